#include <array>
