// SPDX-License-Identifier: MIT
#include <tq/ptq/expected_error.hpp>
#include <tq/store/expected_errors.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/stored_model.ipp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

using namespace store_test;
using namespace tq;
using io_test::TempDir;

namespace {

using Small = BasicStoredModel<TypeList<int4>, TypeList<float>>;
constexpr std::size_t width = 32, outputs = 6;

Hessian hessian(std::size_t tokens) {
  const std::vector<float> x = ptq_test::activations(tokens, width, 1);
  const ConstTensorView view(x.data(), {tokens, width});
  Hessian h(ptq_test::ranges_of(view));
  h.add(view);
  return h;
}

}  // namespace

TEST_CASE("weights of a model have the expected errors of their matrices") {
  const TempDir folder;
  const std::vector<float> w = noise(outputs * width, 1), square = noise(width * width, 2),
                           wide = noise(width * 3 * width, 3);
  const ConstTensorView view(w.data(), {outputs, width});
  save(folder / "in.safetensors",
       {{"fc1.weight", view},
        {"fc2.weight", view},
        {"fc3.weight", ConstTensorView(w.data(), {width, outputs})},
        {"stack", ConstTensorView(w.data(), {2, 3, width})},
        {"h.0.attn.c_attn.weight", ConstTensorView(wide.data(), {width, 3 * width})},
        {"h.0.attn.c_proj.weight", ConstTensorView(square.data(), {width, width})}});
  const Hessian known = hessian(100);
  const Hessians hessians(
      {{"fc1", known}, {"fc3", known}, {"stack", known}, {"h.0.attn.c_proj", known}});
  Small model(folder / "in.safetensors");
  ExpectedErrors<Small> errors(model, hessians);
  const auto tensor = [&](const std::string& name) { return *model.contents().find(name); };
  const std::optional<ExpectedError> got = errors.of(tensor("fc1.weight"));
  REQUIRE(got);
  const std::vector<float> back(w.size());
  const ExpectedError wanted(view, known);
  CHECK(got->energy() == wanted.energy());
  CHECK((*got)(w, back) == wanted(w, back));
  // No Hessian, no matrix, and a matrix of GPT-2 with its inputs first.
  for (const char* name : {"fc2.weight", "stack", "h.0.attn.c_proj.weight"}) {
    CHECK_FALSE(errors.has(tensor(name)));
    CHECK_FALSE(errors.of(tensor(name)));
  }
  CHECK(errors.has(tensor("fc3.weight")));
  test::raises(errc::shape_mismatch, {"fc3.weight", "[outputs, 32]", "[32, 6]"},
               [&] { (void)errors.of(tensor("fc3.weight")); });
}

TEST_CASE("a Hessian of few tokens is taken where that is asked for") {
  const TempDir folder;
  const std::vector<float> w = noise(outputs * width, 1);
  save(folder / "in.safetensors", {{"fc1.weight", ConstTensorView(w.data(), {outputs, width})}});
  const Hessians hessians({{"fc1", hessian(7)}});
  Small model(folder / "in.safetensors");
  const StoredTensor& tensor = model.contents().tensors().front();
  ExpectedErrors<Small> strict(model, hessians);
  test::raises(errc::no_data, {"fc1.weight", "at least 8 tokens"},
               [&] { (void)strict.of(tensor); });
  ExpectedErrors<Small> lenient(model, hessians, {.allow_few_tokens = true});
  CHECK(lenient.of(tensor).has_value());
}
