// Draws labels in all of the fonts that are given, by turns, out of a cache of glyphs that was made with default limits.
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_CACHE_H
#include <stdio.h>
#include <stdlib.h>

enum { LABELS = 8000, LETTERS = 2000 };

static FT_Error opened(FTC_FaceID path, FT_Library library, FT_Pointer data, FT_Face *face) {
    (void)data;
    return FT_New_Face(library, path, 0, face);
}

int main(int argc, char **argv) {
    FT_Library library;
    FTC_Manager manager;
    FTC_CMapCache maps;
    FTC_ImageCache images;
    if (argc < 2 || FT_Init_FreeType(&library) || FTC_Manager_New(library, 0, 0, 0, opened, NULL, &manager) ||
        FTC_CMapCache_New(manager, &maps) || FTC_ImageCache_New(manager, &images))
        return 2;
    long width = 0;
    for (int label = 0; label < LABELS; label++) {
        FTC_ScalerRec scaler = {.face_id = argv[1 + label % (argc - 1)], .width = 8, .height = 16, .pixel = 1};
        FT_Size size;
        if (FTC_Manager_LookupSize(manager, &scaler, &size))
            return 1;
        for (int i = 0; i < LETTERS; i++) {
            FT_Glyph glyph;
            const FT_UInt index = FTC_CMapCache_Lookup(maps, scaler.face_id, -1, 33 + (FT_UInt32)(label + i) % 90);
            if (FTC_ImageCache_LookupScaler(images, &scaler, FT_LOAD_DEFAULT, index, &glyph, NULL))
                return 1;
            width += glyph->advance.x >> 16;
        }
    }
    printf("%ld\n", width);
    FTC_Manager_Done(manager);
    FT_Done_FreeType(library);
    return 0;
}
