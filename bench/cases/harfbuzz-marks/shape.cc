// Paragraphs of a text, one a line, are shaped and measured, again and again, as a program that shows them would.
#include <hb.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

long Width(hb_font_t *font, hb_buffer_t *buffer, const std::string &paragraph) {
    hb_buffer_clear_contents(buffer);
    hb_buffer_add_utf8(buffer, paragraph.data(), static_cast<int>(paragraph.size()), 0, -1);
    hb_buffer_guess_segment_properties(buffer);
    hb_shape(font, buffer, nullptr, 0);
    unsigned count = 0;
    const hb_glyph_position_t *places = hb_buffer_get_glyph_positions(buffer, &count);
    long width = 0;
    for (unsigned k = 0; k < count; k++) {
        width += places[k].x_advance + places[k].y_offset % 7;
    }
    return width;
}

std::vector<std::string> Paragraphs(const char *path) {
    std::ifstream file(path);
    std::vector<std::string> paragraphs;
    for (std::string line; std::getline(file, line);) {
        paragraphs.push_back(line);
    }
    return paragraphs;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: shape FONT TEXT ROUNDS\n");
        return 2;
    }
    hb_blob_t *blob = hb_blob_create_from_file_or_fail(argv[1]);
    if (!blob) {
        std::fprintf(stderr, "shape: %s cannot be read\n", argv[1]);
        return 1;
    }
    hb_face_t *face = hb_face_create(blob, 0);
    hb_font_t *font = hb_font_create(face);
    hb_buffer_t *buffer = hb_buffer_create();
    const std::vector<std::string> paragraphs = Paragraphs(argv[2]);
    long width = 0;
    for (int round = 0; round < std::atoi(argv[3]); round++) {
        for (const std::string &paragraph : paragraphs) {
            width += Width(font, buffer, paragraph);
        }
    }
    std::printf("%zu paragraphs, %ld wide\n", paragraphs.size(), width);
    hb_buffer_destroy(buffer);
    hb_font_destroy(font);
    hb_face_destroy(face);
    hb_blob_destroy(blob);
    return 0;
}
