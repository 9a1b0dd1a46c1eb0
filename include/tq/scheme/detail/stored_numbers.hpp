// SPDX-License-Identifier: MIT
#pragma once
// StoredNumbers: scales, zero points or offsets as they are stored, of a type that is known at run
// time.

#include <tq/core/element.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>

#include <any>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tq {

/// Numbers in the type that stores them: `Scales<S>`, where `Value` is float, or `ZeroPoints<T>`,
/// where it is std::int32_t. Objects of static types go in and out without a copy; code that only
/// reads numbers needs no static type.
template <class Value>
class StoredNumbers {
 public:
  /// No numbers.
  StoredNumbers() = default;
  template <ScaleType S>
    requires std::same_as<Value, float>
  StoredNumbers(Scales<S> scales)  // NOLINT: they are the same thing
      : held_(std::move(scales)), type_(&type_of<Scales<S>>) {}
  template <IntegerElement T>
    requires std::same_as<Value, std::int32_t>
  StoredNumbers(ZeroPoints<T> zero_points)  // NOLINT: as above
      : held_(std::move(zero_points)), type_(&type_of<ZeroPoints<T>>) {}

  [[nodiscard]] std::size_t size() const noexcept {
    return held_.has_value() ? type_->size(held_) : 0;
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Number i. Precondition: i < size().
  [[nodiscard]] Value operator[](std::size_t i) const noexcept { return type_->number(held_, i); }
  /// All of them.
  [[nodiscard]] std::vector<Value> values() const {
    std::vector<Value> out(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (*this)[i];
    return out;
  }

  /// The numbers held, or null if they are of another type.
  template <class Stored>
  [[nodiscard]] const Stored* get_if() const noexcept {
    return std::any_cast<Stored>(&held_);
  }
  template <class Stored>
  [[nodiscard]] Stored* get_if() noexcept {
    return std::any_cast<Stored>(&held_);
  }

  /// Equal types, and equal as these compare.
  friend bool operator==(const StoredNumbers& a, const StoredNumbers& b) noexcept {
    if (!a.held_.has_value() || !b.held_.has_value())
      return a.held_.has_value() == b.held_.has_value();
    return a.type_->equal(a.held_, b.held_);
  }

 private:
  // The operations of the type that is held.
  struct Type {
    std::size_t (*size)(const std::any&) noexcept;
    Value (*number)(const std::any&, std::size_t) noexcept;
    bool (*equal)(const std::any&, const std::any&) noexcept;  // the first one is of the type
  };
  template <class Stored>
  static constexpr Type type_of{[](const std::any& held) noexcept -> std::size_t {
                                  return std::any_cast<Stored>(&held)->values().size();
                                },
                                [](const std::any& held, std::size_t i) noexcept -> Value {
                                  return std::any_cast<Stored>(&held)->values()[i];
                                },
                                [](const std::any& a, const std::any& b) noexcept {
                                  const auto* other = std::any_cast<Stored>(&b);
                                  return other != nullptr && *std::any_cast<Stored>(&a) == *other;
                                }};

  std::any held_;
  const Type* type_ = nullptr;
};

}  // namespace tq
