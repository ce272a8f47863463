mod shop {
    pub struct Basket<T> {
        pub items: Vec<T>,
    }
    impl<T: Copy + std::ops::Add<Output = T> + Default> Basket<T> {
        pub fn add(&mut self, item: T) {
            self.items.push(item);
        }
        #[inline(never)]
        pub fn total(&self) -> T {
            self.items.iter().fold(T::default(), |sum, &item| sum + item)
        }
    }
    pub trait Price {
        fn price(&self) -> u64;
    }
    impl Price for Basket<u64> {
        #[inline(never)]
        fn price(&self) -> u64 {
            self.total() * 3
        }
    }
}
use shop::Price;

fn main() {
    let mut basket = shop::Basket { items: vec![] };
    for i in 0..100u64 {
        basket.add(i * std::env::args().count() as u64);
    }
    println!("{} {}", basket.total(), basket.price());
}
