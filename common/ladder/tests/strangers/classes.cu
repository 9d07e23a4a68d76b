// Classes of the host's that own memory, and a struct that both sides share.
// cargo ladder emulate: --grid 1 --block 8 --arg 'f32[8,6]=iota' --arg 0.5 --arg 8
// expect 0: 1.5 3 4.5 3 4 5
#include <iostream>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Vec3 {
    float x, y, z;
    __host__ __device__ Vec3() : x(0), y(0), z(0) {}
    __host__ __device__ Vec3(float x, float y, float z) : x{x}, y{y}, z{z} {}
    explicit Vec3(const std::vector<float> &all) : x(all.at(0)), y(all.at(1)), z(all.at(2)) {}
    __host__ __device__ Vec3 operator*(float by) const { return Vec3(x * by, y * by, z * by); }
    __host__ __device__ Vec3 &operator+=(const Vec3 &other) { x += other.x; y += other.y; z += other.z; return *this; }
    std::string to_string() const { return "(" + std::to_string(x) + ")"; }
    friend std::ostream &operator<<(std::ostream &out, const Vec3 &v) { return out << v.to_string(); }
};

struct Particle {
    Vec3 position, velocity;
    __device__ void step(float dt) { position += velocity * dt; }
    bool operator==(const Particle &other) const { return to_vector() == other.to_vector(); }
private:
    std::vector<float> to_vector() const { return {position.x, velocity.x}; }
};

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t count) : count_(count) {
        if (cudaMalloc(&data_, count * sizeof(T)) != cudaSuccess) throw std::runtime_error("cudaMalloc");
    }
    DeviceBuffer(const DeviceBuffer &) = delete;
    DeviceBuffer(DeviceBuffer &&other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
    ~DeviceBuffer() { cudaFree(data_); }
    T *get() const { return data_; }
private:
    T *data_ = nullptr;
    size_t count_;
    std::unique_ptr<int, void (*)(int *)> guard_{new int(3), [](int *p) { delete p; }};
};

__global__ void step(Particle *particles, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) particles[i].step(dt);
}

class Simulation {
    std::vector<Particle> particles;
    DeviceBuffer<Particle> buffer{16};
public:
    virtual ~Simulation() = default;
    void run() { step<<<1, 16>>>(buffer.get(), 0.1f, 16); }
};

int main() try {
    Simulation simulation;
    simulation.run();
    std::cout << Vec3(1, 2, 3) << std::endl;
} catch (const std::exception &error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
}
