"""Stage 1: from source and target rows to the relevance of every source row."""

from .autoencoder import Autoencoder as Autoencoder
from .autoencoder import blend_aim as blend_aim
from .autoencoder import decode as decode
from .autoencoder import encode as encode
from .autoencoder import objective_and_gradient as objective_and_gradient
from .autoencoder import pack as pack
from .autoencoder import random_start as random_start
from .autoencoder import reconstruct as reconstruct
from .autoencoder import spectral_start as spectral_start
from .autoencoder import unpack as unpack
from .closeness import closeness as closeness
from .closeness import nearest_target as nearest_target
from .graph import knn_laplacian as knn_laplacian
from .mapping import MappingSolution as MappingSolution
from .mapping import lam_max as lam_max
from .mapping import map_source as map_source
from .mapping import solve_mapping as solve_mapping
from .objective import Objective as Objective
from .objective import contribution_lengths as contribution_lengths
from .objective import objective as objective
from .solve import RelevanceSolution as RelevanceSolution
from .solve import mapping_frame as mapping_frame
from .solve import solve_relevance as solve_relevance
