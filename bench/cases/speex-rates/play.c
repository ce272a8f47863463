/* Makes a sound of a given rate one of 48,000 samples a second, in small blocks as a sound card asks for them. */
#include <speex_resampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 48000, BLOCK = 480, QUALITY = SPEEX_RESAMPLER_QUALITY_VOIP };

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: play RATE SECONDS\n");
        return 2;
    }
    unsigned rate = (unsigned)atoi(argv[1]), blocks = (unsigned)atoi(argv[2]) * (RATE / BLOCK);
    int failed = 0;
    SpeexResamplerState *state = speex_resampler_init(1, rate, RATE, QUALITY, &failed);
    if (failed)
        return 1;
    static float sound[2 * BLOCK], played[BLOCK];
    unsigned noise = 1, made = 0, used = 0;
    double loudness = 0;
    for (unsigned i = 0; i < blocks; i++) {
        for (int at = 0; at < 2 * BLOCK; at++) {
            noise = noise * 1664525u + 1013904223u;
            sound[at] = (float)(noise >> 20) - 2048.0f;
        }
        spx_uint32_t given = 2 * BLOCK, wanted = BLOCK;
        if (speex_resampler_process_float(state, 0, sound, &given, played, &wanted))
            return 1;
        for (unsigned at = 0; at < wanted; at++)
            loudness += played[at] * played[at];
        made += wanted;
        used += given;
    }
    printf("%u of %u: %.6g\n", made, used, loudness / made);
    speex_resampler_destroy(state);
    return 0;
}
