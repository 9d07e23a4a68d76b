e {
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
    std::cout << std::setw(8) << ms << future.get() << (1 <