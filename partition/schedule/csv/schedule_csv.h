#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Reads a schedule in PyTorch's CSV format: one row per rank, one cell per action, in order.
/// - An empty cell is idle time. The parts of an overlap follow each other.
/// - B is the input gradient if the file has W but no I; otherwise B is both gradients. I is always
///   the input gradient, and BW always both.
/// - Transfers are added if the file has no SEND and no RECV (see with_transfers()). Reduces and
///   steps are always added.
///
/// `name` becomes the schedule's name and is used in errors. Throws ConfigError, which names row
/// and column, for a cell that cannot be read. The schedule may be unsound: see validate(), and
/// check_schedule_csv() for files.
[[nodiscard]] Schedule parse_schedule_csv(std::string_view text, const std::string& name);

/// Formats what each rank computes: with F, B (input gradient) and W if the schedule splits
/// backward, otherwise with F and BW. Parsing the text gives the same schedule.
[[nodiscard]] std::string schedule_csv(const Schedule& schedule);

/// Reads a training schedule with parse_schedule_csv() and proves it with validate(): every
/// micro-batch must pass forward and backward on every chunk. Throws ConfigError, which names the
/// fault by row and column of the text, from 1. Actions that were added are named by the cell next
/// to them.
Schedule check_schedule_csv(std::string_view text, const std::string& name);

/// Does the same for a file.
Schedule check_schedule_file(const std::filesystem::path& path);

/// Does the same for a run of `stages` stages. If any backward of the file is split, all are split.
/// Also throws ConfigError if the file has another number of rows.
Schedule read_schedule_file(const std::filesystem::path& path, int stages);

}  // namespace penstock::partition
