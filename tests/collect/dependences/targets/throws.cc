// An exception that passes two functions.
#define APART __attribute__((noipa, noinline))

static volatile int sink;

extern "C" {
APART void leaf(int i) { sink += i; }

APART void thrower(int depth) {
    if (depth == 0)
        throw 42;
    thrower(depth - 1);
    sink++;
}

APART int catcher(void) {
    try {
        thrower(2);
    } catch (int code) {
        leaf(code);
    }
    leaf(1);
    return sink;
}
}

int main() {
    leaf(0);
    catcher();
    leaf(2);
    return 0;
}
