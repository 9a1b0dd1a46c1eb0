// SPDX-License-Identifier: MIT
// A strided tensor of the user's own, a class with data, shape and strides, halves, and Eigen's
// halves.
#include <tq/interop/eigen.hpp>
#include <tq/tq.hpp>

#include <iostream>

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;

struct MyTensor {  // as a framework has them
  std::vector<float> storage;
  std::vector<std::size_t> sizes;
  tq::Strides steps;
  friend auto tq_as_tensor(const MyTensor& t) {
    return tq::ConstTensorView(t.storage.data(), tq::Shape(t.sizes), t.steps);
  }
};
struct Array : private std::vector<float> {  // with the members of an xtensor
  using std::vector<float>::vector, std::vector<float>::data;
  std::array<std::size_t, 2> shape() const { return {2, 3}; }
  std::array<std::ptrdiff_t, 2> strides() const { return {3, 1}; }
};

int main() {
  const MyTensor turned{{1, 2, 3, 4, 5, 6}, {3, 2}, {1, 3}};
  const Array array{1, 2, 3, 4, 5, 6};
  const Eigen::Matrix<Eigen::half, 4, 4> halves = Eigen::Matrix4f::Random().cast<Eigen::half>();
  std::cout << tq::quantize<W8>(turned).params().scales().size() << ' '
            << tq::quantize<W8>(array).params().scales().size() << ' '
            << tq::quantize<W8>(halves).params().scales().size() << '\n';
}
