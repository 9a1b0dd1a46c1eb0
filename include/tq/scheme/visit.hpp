// SPDX-License-Identifier: MIT
#pragma once
// visit: from the names in a QuantSpec to the static types they stand for.

#include <tq/core/quant_params.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/scheme/detail/scheme_facts.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

namespace tq {

namespace detail {

// Calls f(std::type_identity<T>{}) for the listed type of that name. Precondition: there is one.
template <class R, class F, class T, class... Rest>
R with_name(std::string_view name, TypeList<T, Rest...>, F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (name != name_of<T>) return with_name<R>(name, TypeList<Rest...>{}, f);
  return f(std::type_identity<T>{});
}

template <class List>
struct first_type;
template <class T, class... Rest>
struct first_type<TypeList<T, Rest...>> {
  using type = T;
};

}  // namespace detail

/// Calls f.template operator()<Type, Symmetry>() for the element type and the symmetry `spec`
/// names, and returns what it returns. Throws: as `visit`.
template <class Types = all_integers, class F>
decltype(auto) visit_type(const QuantSpec& spec, F&& f) {
  using R = decltype(f.template operator()<typename detail::first_type<Types>::type, Symmetric>());
  detail::require_known("tq::visit", "type", Types{}, spec.type);
  detail::require_valid("tq::visit", spec);
  return detail::with_name<R>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) -> R {
    return detail::with_name<R>(spec.symmetry, detail::all_symmetries{},
                                [&]<class S>(std::type_identity<S>) -> R {
                                  if constexpr (SymmetryFor<S, T>)
                                    return f.template operator()<T, S>();
                                  else detail::refuse_symmetry(spec);
                                });
  });
}

/// Calls f.template operator()<Scale>() for the scale type `spec` names, and returns what it
/// returns. Throws: as `visit`.
template <class ScaleTypes = TypeList<float>, class F>
decltype(auto) visit_scale(const QuantSpec& spec, F&& f) {
  using R = decltype(f.template operator()<typename detail::first_type<ScaleTypes>::type>());
  detail::require_known("tq::visit", "scale_type", ScaleTypes{}, spec.scale_type);
  return detail::with_name<R>(
      spec.scale_type, ScaleTypes{},
      [&]<class Scale>(std::type_identity<Scale>) -> R { return f.template operator()<Scale>(); });
}

/// Calls f.template operator()<Params>(granularity) for the one static type `spec` names, and
/// returns what it returns. The granularity is a dynamic one (PerChannel<>, PerGroup<dynamic,
/// dynamic>, PerBlock<>, PerTensor, PerToken). Only the types in `Types` and `ScaleTypes` are
/// instantiated, in every combination, so a program pays for what it lists.
///
///     tq::visit<tq::TypeList<tq::int4, tq::int8>>(spec, [&]<class Params>(auto granularity) {
///       const auto q = tq::quantize(x, tq::calibrate<Params>(x, granularity));
///     });
///
/// Throws: `errc::unknown_name` for a name that does not exist, with the existing names;
/// `errc::unsupported` for a symmetry the type cannot have; `errc::bad_group_size`;
/// `errc::bad_axis`.
template <class Types = all_integers, class ScaleTypes = TypeList<float>, class F>
decltype(auto) visit(const QuantSpec& spec, F&& f) {
  using first = QuantParams<typename detail::first_type<Types>::type, PerTensor, Symmetric,
                            typename detail::first_type<ScaleTypes>::type>;
  using R = decltype(f.template operator()<first>(PerTensor{}));
  return visit_type<Types>(spec, [&]<class T, class S>() -> R {
    return visit_scale<ScaleTypes>(spec, [&]<class Scale>() -> R {
      if constexpr (ScaleTypeFor<Scale, S>)
        return detail::with_name<R>(spec.granularity, detail::all_granularities{},
                                    [&]<class G>(std::type_identity<G>) -> R {
                                      return f.template operator()<QuantParams<T, G, S, Scale>>(
                                          detail::granularity_from<G>::make(spec));
                                    });
      else detail::refuse_symmetry(spec);  // which is refused before
    });
  });
}

/// Calls f(numerics) with the preset of that name (onnx, torch, ocp, bitsandbytes, torch_2_11,
/// exact), and returns what it returns. Throws: `errc::unknown_name`.
template <class F>
decltype(auto) visit_numerics(std::string_view name, F&& f) {
  using R = decltype(f(numerics::onnx{}));
  detail::require_known("tq::visit_numerics", "numerics", detail::all_numerics{}, name);
  return detail::with_name<R>(
      name, detail::all_numerics{},
      [&]<class P>(std::type_identity<P>) -> R { return f(typename P::type{}); });
}

namespace detail {
// Codes depend on a preset only by how values and scales meet: all presets round to nearest even.
[[nodiscard]] inline bool multiplies(const QuantSpec& spec) {
  return visit_numerics(spec.numerics, []<class N>(const N&) {
    static_assert(std::same_as<typename N::rounding_type, NearestEven>);
    return std::same_as<typename N::scaling_type, Reciprocal>;
  });
}
}  // namespace detail

/// Checks everything about `spec` that can be checked without a tensor. Throws: as `visit`.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
void validate(const QuantSpec& spec) {
  static_cast<void>(detail::scheme_facts<Types>(spec));
  detail::require_known("tq::visit", "scale_type", ScaleTypes{}, spec.scale_type);
}

}  // namespace tq
