// SPDX-License-Identifier: MIT
#pragma once
// JSON of FakeQuantize layers, so that training goes on where it stopped.

#include <tq/json/json.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/train/fake_quantize.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace tq::io {

/// {"gradient": "learned_step", "observe": true, "quantize": true, "learn": true, "delay": 0,
/// "batches": 12,
///  "observer": as `observer_to_json`, and from the first batch on "params": as `params_to_json`,
///  and where something is learned "learned": the first parameter of every slot, then the second
///  ones}. Equal states give equal documents.
template <class Params, StorableAccumulator Acc, class Gradient, class Calibrator, class N>
[[nodiscard]] Json fake_quantize_to_json(
    const FakeQuantize<Params, Acc, Gradient, Calibrator, N>& layer) {
  const auto state = layer.state();
  Json out{{"gradient", Gradient::name},
           {"observe", state.observes},
           {"quantize", state.quantizes},
           {"learn", state.learns},
           {"delay", state.delay},
           {"batches", state.batches},
           {"observer", observer_to_json(state.observer)}};
  if (state.params) {
    out["params"] = params_to_json(*state.params);
    if constexpr (Gradient::learned > 0) out["learned"] = state.learned;
  }
  return out;
}

/// Makes `layer` what such an object says, to continue; `path` names it in messages. Calibrator and
/// numerics stay those of the layer. Throws: `errc::malformed` for a document that is not of this
/// form, or does not agree with itself; `errc::bad_argument` for another gradient, accumulator or
/// scheme; what `params_from_json` and `observer_from_json` throw. The layer is unchanged then.
template <class Params, StorableAccumulator Acc, class Gradient, class Calibrator, class N>
void fake_quantize_from_json(const Json& json,
                             FakeQuantize<Params, Acc, Gradient, Calibrator, N>& layer,
                             std::string_view path = "layer") {
  using Layer = FakeQuantize<Params, Acc, Gradient, Calibrator, N>;
  constexpr std::string_view where = "tq::io::fake_quantize_from_json";
  JsonFields fields(json, where, path);
  if (const std::string gradient = fields.string("gradient"); gradient != Gradient::name)
    detail::fail(errc::bad_argument, where, path, "gradient",
                 detail::expected_got(Gradient::name, detail::shown(gradient)));
  const auto inner = [&](const char* key) { return std::string(path) + ": " + key; };
  typename Layer::State state;
  state.observes = fields.boolean("observe");
  state.quantizes = fields.boolean("quantize");
  state.learns = fields.boolean("learn");
  state.delay = fields.count("delay");
  state.batches = fields.count("batches");
  state.observer =
      observer_from_json<typename Layer::observer_type>(fields.at("observer"), inner("observer"));
  if (fields.has("params")) {
    state.params = params_from_json<Params>(fields.at("params"), inner("params"));
    if constexpr (Gradient::learned > 0) state.learned = fields.floats("learned");
  }
  fields.finish();
  detail::in_document(where, path, [&] { layer.restore(std::move(state)); });
}

}  // namespace tq::io
