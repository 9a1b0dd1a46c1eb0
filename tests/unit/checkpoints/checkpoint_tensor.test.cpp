// SPDX-License-Identifier: MIT
#include <tq/checkpoints/checkpoint_tensor.hpp>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

using namespace checkpoint_test;

namespace {

// int8 [2, 4], one scale for each two inputs.
tq::CheckpointTensor small() {
  tq::CheckpointTensor out;
  tq::EncodedTensor& t = out.tensor;
  t.spec.granularity = "per_group";
  t.spec.group_size = 2;
  t.shape = {2, 4};
  t.codes = tq::Buffer<std::byte>(8);
  for (int i = 0; i < 8; ++i) t.codes.data()[i] = static_cast<std::byte>(i);
  t.scales = tq::Scales<float>(std::vector<float>{1, 2, 3, 4});
  return out;
}

}  // namespace

TEST_CASE("values have their factors, and inputs their places",
          "[checkpoints][checkpoint_tensor]") {
  tq::CheckpointTensor w = small();
  CHECK(decode(w) == std::vector<float>{0, 1, 4, 6, 12, 15, 24, 28});
  w.factors = {0.5f};
  CHECK(decode(w) == std::vector<float>{0, 0.5f, 2, 3, 6, 7.5f, 12, 14});
  w.factors = {1, -1, 2, 0};
  CHECK(decode(w) == std::vector<float>{0, 1, -4, -6, 24, 30, 0, 0});
  w.factors.clear();
  w.input_order = {2, 0, 3, 1};
  CHECK(decode(w) == std::vector<float>{1, 6, 0, 4, 15, 28, 12, 24});
  check_layer(w);
}

TEST_CASE("parts that do not fit each other are errors", "[checkpoints][checkpoint_tensor]") {
  const auto refused = [](tq::errc code, std::initializer_list<const char*> texts, auto&& change) {
    tq::CheckpointTensor w = small();
    change(w);
    test::raises(code, texts, [&] { (void)decode(w); });
    test::raises(code, {}, [&] { (void)tq::grouped_weights_of(w); });
  };
  using tq::errc;
  refused(errc::bad_argument, {"[0, 4) once in the input order", "got 4"},
          [](auto& w) { w.input_order = {0, 1, 2, 4}; });
  refused(errc::bad_argument, {"got 1 twice"}, [](auto& w) { w.input_order = {0, 1, 1, 3}; });
  refused(errc::shape_mismatch, {"input order"}, [](auto& w) { w.input_order = {0, 1}; });
  refused(errc::shape_mismatch, {"number of factors"}, [](auto& w) { w.factors = {1, 1, 1}; });
  refused(errc::shape_mismatch, {"code book"}, [](auto& w) { w.codebook.resize(16); });
  refused(errc::shape_mismatch, {"bytes of codes"},
          [](auto& w) { w.tensor.codes = tq::Buffer<std::byte>(7); });
}

TEST_CASE("activations of another number of inputs, and orders for integer layers, are refused",
          "[checkpoints][checkpoint_layers]") {
  tq::CheckpointTensor w = small();
  const std::vector<float> x(6, 1.0f);
  test::raises(tq::errc::shape_mismatch, {"tq::activations_of", "[2, 4]", "[2, 3]"},
               [&] { (void)tq::activations_of(w, tq::ConstTensorView(x.data(), {2, 3})); });
  test::raises(tq::errc::unsupported, {"tq::byte_weights_of", "one for each output"},
               [&] { (void)tq::byte_weights_of(w); });
  w.input_order = {2, 0, 3, 1};
  test::raises(tq::errc::unsupported, {"tq::byte_weights_of", "their own order"},
               [&] { (void)tq::byte_weights_of(w); });
}
