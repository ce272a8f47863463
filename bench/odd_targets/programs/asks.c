// Prints what preloaded libraries change: getppid's answer, and the variable that names them.
#include "work.h"

int main(void) {
    burn(0.1);
    const char *preloaded = getenv("LD_PRELOAD");
    printf("%d %s\n", (int)getppid() == 4242, preloaded ? preloaded : "none");
    return 0;
}
