// Learns to tell two kinds of points apart and says how many examples the rule rests on.
#include <cstdio>
#include <cstdlib>
#include <svm.h>
#include <vector>

static unsigned noise = 7;

static double drawn() {
    noise = noise * 1103515245u + 12345u;
    return (noise >> 8) / 16777216.0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: points EXAMPLES MEGABYTES\n");
        return 2;
    }
    const int examples = std::atoi(argv[1]), features = 16;
    std::vector<svm_node> nodes(static_cast<size_t>(examples) * (features + 1));
    std::vector<svm_node *> rows(examples);
    std::vector<double> kinds(examples);
    for (int i = 0; i < examples; i++) {
        rows[i] = &nodes[static_cast<size_t>(i) * (features + 1)];
        double sum = 0;
        for (int j = 0; j < features; j++) {
            rows[i][j] = {j + 1, drawn()};
            sum += (j % 3 - 1) * rows[i][j].value * rows[i][(j * 5) % (j + 1)].value;
        }
        rows[i][features] = {-1, 0};
        kinds[i] = sum + 0.8 * (drawn() - 0.5) > 0.3 ? 1 : -1;
    }
    svm_problem problem = {examples, kinds.data(), rows.data()};
    svm_parameter parameter = {};
    parameter.svm_type = C_SVC;
    parameter.kernel_type = RBF;
    parameter.gamma = 0.5;
    parameter.C = 10;
    parameter.eps = 0.001;
    parameter.cache_size = std::atof(argv[2]);
    parameter.shrinking = 1;
    svm_set_print_string_function([](const char *) {});
    svm_model *model = svm_train(&problem, &parameter);
    std::printf("%d\n", model->l);
    svm_free_and_destroy_model(&model);
    return 0;
}
