"""The `design` sampler: evolutionary search over valid designs; a model ranks the children."""

from dse.samplers.design.columns.genomes import Genome, Genomes
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.pool import Hopes
from dse.samplers.design.search import DesignSearch
from dse.samplers.design.settings import LOCAL, Settings

__all__ = ["LOCAL", "DesignSearch", "Genome", "GenomeSpace", "Genomes", "Hopes", "Settings"]
