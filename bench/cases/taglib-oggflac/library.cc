// A library of music is looked through, again and again: titles and lengths of all files of a folder.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <oggflacfile.h>
#include <string>
#include <vector>
#include <xiphcomment.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: library FOLDER TIMES\n";
        return 2;
    }
    std::vector<std::string> paths;
    for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    size_t letters = 0;
    for (int times = std::stoi(argv[2]); times > 0; times--) {
        for (const std::string &path : paths) {
            TagLib::Ogg::FLAC::File file(path.c_str());
            if (!file.isValid() || !file.hasXiphComment()) {
                std::cerr << "library: " << path << " has no title\n";
                return 1;
            }
            letters += file.tag()->title().size();
        }
    }
    std::cout << letters << " letters\n";
    return 0;
}
