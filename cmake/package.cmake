# cpack -G DEB: penstock_VERSION_amd64.deb, or penstock-cuda_VERSION_amd64.deb of a build with CUDA. dpkg-shlibdeps
# says which packages bring the libraries. Of CUDA's libraries it names those that are packages where it runs, as
# NVIDIA's repository has them. Debian has none of CUDA 13, so the description says what is needed.
set(name penstock)
set(needs "")
if(PENSTOCK_WITH_CUDA)
  set(name penstock-cuda)
  set(needs "
.
This build computes on NVIDIA's GPUs, too. It needs a driver, and cudart and
cublasLt of CUDA ${CUDAToolkit_VERSION_MAJOR}, cuDNN 9 and NCCL 2 where the loader finds them, such as
from NVIDIA's repository.")
  # Where these are no Debian packages, dpkg-shlibdeps finds the files here, and names none.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PENSTOCK_CUDA_FOLDERS})
  set(other penstock)
  set(CPACK_DEBIAN_PACKAGE_PROVIDES "penstock (= ${PROJECT_VERSION})")
else()
  set(other penstock-cuda)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${name})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "penstock's maintainers <maintainers@penstock.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, python3")
set(CPACK_DEBIAN_PACKAGE_CONFLICTS ${other})
set(CPACK_DEBIAN_PACKAGE_REPLACES ${other})
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/package/preinst)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "trains speech recognisers in pipeline stages and replicas
penstock cuts the layers of a speech recogniser into pipeline stages, runs
each stage in one or more data-parallel replicas, and starts as one mpirun
job. The same program plans the run for a cluster, trains, evaluates and
transcribes. It takes checkpoints from Hugging Face and gives them back.
.
It needs a processor with AVX2 and FMA.${needs}")

# Debian's policy wants these two files below the package's name.
find_program(DATE date REQUIRED)
execute_process(COMMAND ${DATE} -u -R -d "${PENSTOCK_RELEASED}"
  OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file(cmake/package/changelog.in ${CMAKE_CURRENT_BINARY_DIR}/changelog @ONLY)
install(FILES cmake/package/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
if(GZIP)
  execute_process(COMMAND ${GZIP} -9 -n -f ${CMAKE_CURRENT_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
endif()
include(CPack)
