#pragma once

namespace penstock::comm {

/// Settings of Open MPI for ranks that compute while messages move; to be called before MPI starts.
/// By its own, a long message leaves in three parts of 32 KiB at every poll of its sender, who
/// polls every millisecond or so. What the environment sets already (OMPI_MCA_…) stays; other
/// libraries of MPI do not look.
void suit_open_mpi();

}  // namespace penstock::comm
