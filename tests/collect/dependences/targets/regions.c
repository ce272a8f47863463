// Loops and branches whose regions can be counted by hand.
#define APART __attribute__((noipa, noinline))

static volatile int sink;

APART void visit(int i) {
    sink += i;
}

// 4 rows; row r has r columns, of which the even ones are visited; row 3 is left at its third column.
APART int nested(int rows) {
    int left = 0;
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < r; c++) {
            if (r == 3 && c == 2) {
                visit(100);
                left++;
                break;
            }
            if (c % 2 == 0)
                visit(c);
        }
        sink++;
    }
    return left;
}

APART int search(int wanted) {
    for (int i = 0; i < 10; i++)
        if (i * i == wanted) {
            visit(i);
            sink++; // apart from the other way out
            return i;
        }
    visit(-1);
    return -1;
}

int main(void) {
    nested(4);
    search(25);
    search(26);
    return 0;
}
