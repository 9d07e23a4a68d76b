// Lambdas, threads and clocks of the host's; strings and comments full of braces and of words that mean something.
// cargo ladder emulate: --grid 2 --block 32 --arg 'i32[64]=iota' --arg 64
// expect 0: 1 2 3 4 5 6
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <iomanip>
#include <random>
#include <sstream>
#include <thread>
#include <unordered_map>

/* __global__ void ghost(int *x) { x[0] = 1; } }}} */
// __global__ void second_ghost(int *x) {
static const char *kSource = R"cuda(
extern "C" __global__ void ghost(float *x) { /* ")" */ x[threadIdx.x] *= 2; }}}
)cuda";
static const char kBrace = '{', kQuote = '\'', kOther = '"';
const char *kLines[] = {"{", "\"}", "a\
b }", u8"ü{"};

__global__ void increment(int *x, int n) {
    auto inside = [n](int i) -> bool { return i < n; };  // a lambda of the device's
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (inside(i)) { ++x[i]; }
}

auto timer = [](auto &&function, auto &&...args) {
    auto start = std::chrono::high_resolution_clock::now();
    std::forward<decltype(function)>(function)(args...);
    return std::chrono::duration<double, std::milli>(std::chrono::high_resolution_clock::now() - start).count();
};

std::function<void(int)> callback = [](int x) { if (x < 3) { printf("{%d}", x); } };

struct Scope {
    std::function<void()> end;
    ~Scope() { if (end) end(); }
};

int main(int argc, const char *const argv[]) {
    std::mt19937 generator{std::random_device{}()};
    std::uniform_int_distribution<> distribution(0, 9);
    std::vector<int> host(64);
    std::generate(host.begin(), host.end(), [&] { return distribution(generator); });
    Scope scope{[&]() { std::cout << "bye }" << '\n'; }};
    auto future = std::async(std::launch::async, [&host]() noexcept -> int { return *std::max_element(host.begin(), host.end()); });
    int *device;
    auto ms = timer([&] { increment<<<2, 32>>>(device, 64); cudaDeviceSynchronize(); });
    std::cout << std::setw(8) << ms << future.get() << (1 << 3 >> 1) << std::endl;
    if (argc > 1 && argv[1][0] == '}') return 1;
}
