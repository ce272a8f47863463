/* Balls fly about in a large box and bounce off each other and off its walls. */
#include <chipmunk/chipmunk.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long noise = 3;

static double drawn(double from, double to) {
    noise = noise * 6364136223846793005ul + 1442695040888963407ul;
    return from + (to - from) * (double)(noise >> 40) / (double)(1 << 24);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: gas BALLS STEPS\n");
        return 2;
    }
    int balls = atoi(argv[1]), steps = atoi(argv[2]);
    const double half = 1500, radius = 8;
    cpSpace *space = cpSpaceNew();
    const double corners[][2] = {{-half, -half}, {half, -half}, {half, half}, {-half, half}};
    for (int i = 0; i < 4; i++) {
        const double *from = corners[i], *to = corners[(i + 1) % 4];
        cpBody *body = cpSpaceGetStaticBody(space);
        cpShape *wall = cpSegmentShapeNew(body, cpv(from[0], from[1]), cpv(to[0], to[1]), 10);
        cpShapeSetElasticity(wall, 1);
        cpSpaceAddShape(space, wall);
    }
    cpBody **bodies = malloc((size_t)balls * sizeof *bodies);
    if (!bodies)
        return 1;
    for (int i = 0; i < balls; i++) {
        bodies[i] = cpSpaceAddBody(space, cpBodyNew(1, cpMomentForCircle(1, 0, radius, cpvzero)));
        cpBodySetPosition(bodies[i], cpv(drawn(-half, half) * 0.95, drawn(-half, half) * 0.95));
        cpBodySetVelocity(bodies[i], cpv(drawn(-30, 30), drawn(-30, 30)));
        cpShape *shape = cpSpaceAddShape(space, cpCircleShapeNew(bodies[i], radius, cpvzero));
        cpShapeSetElasticity(shape, 1);
    }
    for (int i = 0; i < steps; i++)
        cpSpaceStep(space, 1.0 / 120);
    double energy = 0;
    for (int i = 0; i < balls; i++)
        energy += cpvlengthsq(cpBodyGetVelocity(bodies[i]));
    printf("%.6g\n", energy);
    free(bodies);
    return 0;
}
