// SPDX-License-Identifier: MIT
// What calls take of a stack: at most 64 KiB, beside what a thread has of its own (its descriptor,
// and the thread-local variables of the program: what a thread that does nothing takes).
#include <tq/linear/quantized_linear.hpp>
#include <tq/tq.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace {

using tq::Shape;
using tq::TensorView;

constexpr std::size_t limit = std::size_t{64} << 10;

// How many bytes of a painted stack a thread has written that calls f().
std::size_t written(const std::function<void()>& f) {
  constexpr std::size_t size = std::size_t{1} << 20;
  constexpr unsigned char paint = 0xa5;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  std::memset(memory, paint, size);
  pthread_attr_t attributes;
  pthread_t thread;
  const auto run = [](void* p) -> void* {
    (*static_cast<std::function<void()>*>(p))();
    return nullptr;
  };
  std::function<void()> call = f;
  if (pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, memory, size) != 0 ||
      pthread_create(&thread, &attributes, run, &call) != 0 || pthread_join(thread, nullptr) != 0)
    std::abort();
  pthread_attr_destroy(&attributes);
  const auto* bytes = static_cast<const unsigned char*>(memory);
  std::size_t rest = 0;
  while (rest < size && bytes[rest] == paint) ++rest;
  munmap(memory, size);
  return size - rest;
}

// Measures calls, and counts those above the limit.
class Stack {
 public:
  // What f() takes of it.
  [[nodiscard]] std::size_t of(const std::function<void()>& f) const { return written(f) - own_; }

  void check(const std::string& name, const std::function<void()>& f) {
    const std::size_t taken = of(f);
    if (taken > most_) most_ = taken, name_ = name;
    if (taken <= limit) return;
    std::printf("%s: expected at most %zu bytes of stack, got %zu\n", name.c_str(), limit, taken);
    ++failed_;
  }
  [[nodiscard]] int failed() const {
    std::printf("most: %zu bytes, %s\n", most_, name_.c_str());
    return failed_;
  }

 private:
  std::size_t own_ = written([] {}), most_ = 0;
  std::string name_;
  int failed_ = 0;
};

// A tensor of reals, and one of the same shape to write.
template <class T>
struct Tensors {
  std::vector<T> in, out;
  explicit Tensors(std::size_t n) : in(n), out(n) {
    for (std::size_t i = 0; i < n; ++i)
      in[i] = static_cast<T>(static_cast<float>(i * 7919 % 2001) - 1000.0f);
  }
  [[nodiscard]] TensorView<const T> x(const Shape& s) const { return {in.data(), s}; }
  [[nodiscard]] TensorView<T> y(const Shape& s) { return {out.data(), s}; }
  // The same with neighbours that lie apart.
  [[nodiscard]] TensorView<const T> turned_x(const Shape& s) const {
    return {in.data(), s, {1, static_cast<std::ptrdiff_t>(s[0])}};
  }
  [[nodiscard]] TensorView<T> turned_y(const Shape& s) {
    return {out.data(), s, {1, static_cast<std::ptrdiff_t>(s[0])}};
  }
};

// All that goes between reals T and codes.
template <class Params, class T>
void check_reals(Stack& stack, const std::string& name, const Shape& s) {
  Tensors<T> t(s.size());
  const auto params = tq::quantize_dynamic<Params>(t.x(s)).params();
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(s.size()));
  const std::span<const std::byte> codes(bytes);
  const std::string of = " of " + name + " " + tq::to_string(s);
  stack.check("quantize" + of, [&] { tq::quantize(t.x(s), params, std::span(bytes)); });
  stack.check("quantize, turned," + of,
              [&] { tq::quantize(t.turned_x(s), params, std::span(bytes)); });
  stack.check("dequantize" + of, [&] { tq::dequantize(codes, params, t.y(s)); });
  stack.check("dequantize, turned," + of, [&] { tq::dequantize(codes, params, t.turned_y(s)); });
  stack.check("fake_quantize" + of, [&] { tq::fake_quantize(t.x(s), params, t.y(s)); });
  stack.check("fake_quantize, turned," + of,
              [&] { tq::fake_quantize(t.turned_x(s), params, t.turned_y(s)); });
  stack.check("quantize_dynamic" + of, [&] { (void)tq::quantize_dynamic<Params>(t.x(s)); });
  stack.check("quantize_dynamic, turned," + of,
              [&] { (void)tq::quantize_dynamic<Params>(t.turned_x(s)); });
  if constexpr (!tq::CodedParams<Params>)
    stack.check("fake_quantize_backward" + of,
                [&] { (void)tq::fake_quantize_backward(t.turned_x(s), params, t.x(s), t.y(s)); });
}

// So many rows that what is written passes the cache by.
template <class Params>
void check_streaming(Stack& stack) {
  constexpr std::size_t columns = 5000;
  const Shape s{tq::driver::this_machine().stream_from / (4 * columns) + 1, columns};
  Tensors<float> t(s.size());
  const auto params = tq::quantize_dynamic<Params>(t.x(Shape{9, columns})).params();
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(s.size()));
  const std::span<const std::byte> codes(bytes);
  stack.check("quantize to memory", [&] { tq::quantize(t.x(s), params, std::span(bytes)); });
  stack.check("dequantize to memory", [&] { tq::dequantize(codes, params, t.y(s)); });
  stack.check("fake_quantize to memory", [&] { tq::fake_quantize(t.x(s), params, t.y(s)); });
}

void check_layer(Stack& stack) {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const Shape s{33, 300};
  Tensors<float> t(s.size());
  const auto weights = tq::quantize_dynamic<Weights>(t.x(Shape{10, 300}));
  stack.check("QuantizedLinear", [&] { (void)tq::QuantizedLinear(weights); });
  const tq::QuantizedLinear layer(weights);
  stack.check("QuantizedLinear::forward", [&] { layer.forward(t.x(s), t.y(Shape{33, 10})); });
}

}  // namespace

int main() {
  Stack stack;
  const std::size_t known = stack.of([] {
    volatile unsigned char some[limit + 4096];
    for (volatile unsigned char& byte : some) byte = 0;
  });
  if (known <= limit) {
    std::printf("expected more than %zu bytes of stack, got %zu\n", limit, known);
    return 1;
  }
  using Rows = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Asymmetric>;
  using Columns = tq::QuantParams<tq::uint4, tq::PerChannel<1>, tq::Asymmetric, tq::float8_e4m3fn>;
  using Groups = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric, tq::float16>;
  for (const Shape& s : {Shape{300, 9}, Shape{9, 300}, Shape{17, 5000}, Shape{64, 32}}) {
    check_reals<Rows, tq::float16>(stack, "int8 rows", s);
    check_reals<Columns, float>(stack, "uint4 columns", s);
    check_reals<Groups, float>(stack, "int4 groups", s);
  }
  check_streaming<Columns>(stack);
  check_layer(stack);
  return stack.failed() == 0 ? 0 : 1;
}
