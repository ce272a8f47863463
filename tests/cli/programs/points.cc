// Looks points up in a table whose hash drops the last bits of their coordinates.
#include <cstdlib>
#include <unordered_map>

struct Point {
    int x, y;
    bool operator==(const Point &other) const { return x == other.x && y == other.y; }
};
static int dropped;
struct PointHash {
    std::size_t operator()(const Point &at) const {
        return (std::size_t)(at.x >> dropped) * 1000003u + (at.y >> dropped);
    }
};
using Grid = std::unordered_map<Point, int, PointHash>;
static volatile long sum;

__attribute__((noinline)) static void look_up(const Grid &grid, int side) {
    for (int x = 0; x < side; x++)
        for (int y = 0; y < side; y++)
            sum = sum + grid.find(Point{x, y})->second;
}

int main(int, char **argv) {
    dropped = std::atoi(argv[1]);
    const int side = 128;
    Grid grid;
    for (int x = 0; x < side; x++)
        for (int y = 0; y < side; y++)
            grid[Point{x, y}] = x ^ y;
    for (int turn = 0; turn < 300; turn++)
        look_up(grid, side);
    return 0;
}
