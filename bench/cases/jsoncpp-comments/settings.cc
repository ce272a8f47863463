// Settings with remarks are read by two threads, a document each at a time. After the first value comes a long remark,
// then many short ones: the long one begins or ends with a new line.
#include <atomic>
#include <iostream>
#include <json/json.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string document(unsigned remarks, bool breaks_late) {
    const std::string text(4000, 'a');
    std::string written = "{\"version\": 3 /*" + (breaks_late ? text + "\n" : "\n" + text) + "*/";
    for (unsigned i = 0; i < remarks; i++) {
        written += "/* remark " + std::to_string(i) + " */";
    }
    written += ", \"settings\": [";
    for (unsigned i = 0; i < 4000; i++) {
        written += "{\"name\": \"setting" + std::to_string(i) + "\", \"value\": " + std::to_string(i * 0.25) + "},\n";
    }
    return written + "{}]}";
}

void read_all(const std::string &text, std::atomic<int> &left, std::atomic<size_t> &read) {
    const Json::CharReaderBuilder builder;
    while (left-- > 0) {
        const std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
        Json::Value root;
        std::string problem;
        if (!reader->parse(text.data(), text.data() + text.size(), &root, &problem)) {
            std::cerr << "settings: " << problem;
            std::exit(1);
        }
        read += root["settings"].size();
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "usage: settings DOCUMENTS REMARKS early|late\n";
        return 2;
    }
    const std::string text = document(static_cast<unsigned>(std::stoul(argv[2])), std::string(argv[3]) == "late");
    std::atomic<int> left{std::stoi(argv[1])};
    std::atomic<size_t> read{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
        threads.emplace_back(read_all, std::cref(text), std::ref(left), std::ref(read));
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    std::cout << read << " settings\n";
    return 0;
}
