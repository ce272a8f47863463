// list SIZE: searches a list of so many numbers, by a function of the standard library that is inlined.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<int> numbers;

__attribute__((noinline)) bool is_known(int wanted) {
    return std::find_if(numbers.begin(), numbers.end(), [wanted](int one) { return one == wanted; }) != numbers.end();
}

int main(int count, char **words) {
    int size = count > 1 ? std::atoi(words[1]) : 10, known = 0;
    for (int i = 0; i < size; i++)
        numbers.push_back(i);
    for (int i = 0; i < 60; i++)
        known += is_known(-i);
    std::printf("%d\n", known);
    return 0;
}
