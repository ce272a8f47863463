// Goroutines that call C, be preempted by signals, and panic.
package main

/*
static long work(long n) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum += i;
    return sum;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	var all sync.WaitGroup
	sums := make([]int64, 50)
	for i := range sums {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for j := 0; j < 20; j++ {
				sums[i] += int64(C.work(200000))
				for k := 0; k < 200000; k++ {
					sums[i] += int64(k & 1)
				}
			}
		}(i)
	}
	all.Wait()
	func() {
		defer func() { fmt.Println("recovered", recover() != nil) }()
		var nothing *int
		*nothing = 1
	}()
	fmt.Println(sums[0], sums[49])
	os.Exit(22)
}
