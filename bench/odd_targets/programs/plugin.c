// What dlopen_storm, dlmopen and others load.
int plugin_calls;

int plugin_answer(int number) {
    plugin_calls++;
    int sum = 0;
    for (int i = 0; i < 20000; i++) {
        sum += (sum ^ i) * number;
    }
    return (sum & 1) | 2;
}
