#include <tq/core/none.hpp>
