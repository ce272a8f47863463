/* How loud a sound is at each pitch, from frames of some length. */
#include <kiss_fft.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: loudness SAMPLES FRAMES\n");
        return 2;
    }
    int size = atoi(argv[1]), frames = atoi(argv[2]);
    kiss_fft_cfg plan = kiss_fft_alloc(size, 0, NULL, NULL);
    kiss_fft_cpx *sound = malloc(sizeof *sound * size), *pitches = malloc(sizeof *pitches * size);
    double *loudness = calloc(size, sizeof *loudness);
    if (!plan || !sound || !pitches || !loudness)
        return 1;
    unsigned noise = 1;
    for (int frame = 0; frame < frames; frame++) {
        for (int i = 0; i < size; i++) {
            noise = noise * 1103515245u + 12345u;
            double window = 0.5 - 0.5 * cos(2 * M_PI * i / size);
            sound[i].r = (float)(window * (sin(0.05 * (frame * 31 + i)) + (noise >> 16) / 65536.0));
            sound[i].i = 0;
        }
        kiss_fft(plan, sound, pitches);
        for (int i = 0; i < size; i++)
            loudness[i] += log1p(hypot(pitches[i].r, pitches[i].i));
    }
    int loudest = 8; /* below it is what does not sound */
    for (int i = 9; i < size / 2; i++)
        if (loudness[i] > loudness[loudest])
            loudest = i;
    printf("%.3f\n", (double)loudest / size);
    free(loudness);
    free(pitches);
    free(sound);
    free(plan);
    return 0;
}
