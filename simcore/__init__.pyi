from simcore.bounds.design_bounds import DesignBounds as DesignBounds  # provisional
from simcore.bounds.left_out import why_computing_alone as why_computing_alone  # provisional
from simcore.bounds.listed import footprints as footprints  # provisional
from simcore.bounds.listed import lower_bounds as lower_bounds  # provisional
from simcore.checks import RunChecks as RunChecks  # provisional
from simcore.checks import check_memory as check_memory
from simcore.checks import check_run as check_run
from simcore.checks import check_structure as check_structure
from simcore.checks import memory_fit as memory_fit  # provisional
from simcore.collectives import ALGORITHMS as ALGORITHMS
from simcore.collectives import CollectiveAlgorithm as CollectiveAlgorithm
from simcore.collectives import Exchange as Exchange
from simcore.collectives import Offset as Offset
from simcore.collectives import Span as Span  # provisional
from simcore.collectives import Step as Step
from simcore.collectives import Table as Table
from simcore.comparison import Comparison as Comparison  # provisional
from simcore.comparison import TraceDifference as TraceDifference  # provisional
from simcore.comparison import compare as compare  # provisional
from simcore.comparison import compare_with_trace as compare_with_trace  # provisional
from simcore.compute import COMPUTE_MODELS as COMPUTE_MODELS
from simcore.compute import ComputeModel as ComputeModel
from simcore.compute import Roofline as Roofline
from simcore.config import Run as Run
from simcore.config import RunTemplate as RunTemplate  # provisional
from simcore.config import get_path as get_path  # provisional
from simcore.config import load_run as load_run
from simcore.config import parse_path as parse_path  # provisional
from simcore.config import set_path as set_path  # provisional
from simcore.engines.attribution import Attribution as Attribution  # provisional
from simcore.engines.attribution import Cause as Cause  # provisional
from simcore.engines.attribution import Reason as Reason  # provisional
from simcore.errors import ConfigError as ConfigError
from simcore.errors import InfeasibleError as InfeasibleError
from simcore.errors import SimcoreError as SimcoreError
from simcore.errors import SimulationError as SimulationError
from simcore.file_schemas import file_schema as file_schema  # provisional
from simcore.file_schemas import json_schemas as json_schemas  # provisional
from simcore.files.input_file import files_kept as files_kept  # provisional
from simcore.files.input_file import is_there as is_there  # provisional
from simcore.files.input_file import read_text as read_text  # provisional
from simcore.files.json_file import parse_json as parse_json  # provisional
from simcore.files.json_file import read_json as read_json  # provisional
from simcore.files.resources import find_config as find_config  # provisional
from simcore.files.resources import shipped_folder as shipped_folder  # provisional
from simcore.files.resources import shipped_names as shipped_names  # provisional
from simcore.files.yaml_file import parse_yaml as parse_yaml  # provisional
from simcore.files.yaml_file import read_table as read_table  # provisional
from simcore.files.yaml_file import read_yaml as read_yaml  # provisional
from simcore.formats.timeline.timeline import Timeline as Timeline  # provisional
from simcore.garbage import collect_rarely as collect_rarely  # provisional
from simcore.garbage import no_collection as no_collection  # provisional
from simcore.garbage import rare_collection as rare_collection  # provisional
from simcore.jobs.file import JobRun as JobRun  # provisional
from simcore.jobs.file import Jobs as Jobs  # provisional
from simcore.jobs.file import JobsTemplate as JobsTemplate  # provisional
from simcore.jobs.file import load_jobs as load_jobs  # provisional
from simcore.jobs.result import JobResult as JobResult  # provisional
from simcore.jobs.result import JobsResult as JobsResult  # provisional
from simcore.jobs.simulate import JobsSimulator as JobsSimulator  # provisional
from simcore.jobs.simulate import simulate_jobs as simulate_jobs  # provisional
from simcore.kernels.designs.children import MOVES as MOVES  # provisional
from simcore.kernels.designs.children import breed_designs as breed_designs  # provisional
from simcore.kernels.designs.children import move_designs as move_designs  # provisional
from simcore.kernels.designs.chosen import best_design as best_design  # provisional
from simcore.kernels.designs.known import add_keys as add_keys  # provisional
from simcore.kernels.designs.known import find_keys as find_keys  # provisional
from simcore.kernels.designs.known import keys_of_designs as keys_of_designs  # provisional
from simcore.kernels.designs.tables import DesignTables as DesignTables  # provisional
from simcore.kernels.designs.tables import hold_designs as hold_designs  # provisional
from simcore.kernels.jit import load_compiler as load_compiler  # provisional
from simcore.kernels.private_folder import danger_above as danger_above  # provisional
from simcore.last_resort import last_words as last_words  # provisional
from simcore.machine import Dimension as Dimension
from simcore.machine import Npu as Npu
from simcore.machine import Platform as Platform
from simcore.machine import load_npu as load_npu
from simcore.machine import load_platform as load_platform
from simcore.machine import scale_up_dimensions as scale_up_dimensions  # provisional
from simcore.machine import unbuildable as unbuildable  # provisional
from simcore.machine.admitted import admitted_algorithms as admitted_algorithms  # provisional
from simcore.machine.movers import MOVERS as MOVERS  # provisional
from simcore.machine.movers import Mover as Mover  # provisional
from simcore.machine.system import System as System
from simcore.many.columns import Simulations as Simulations  # provisional
from simcore.many.simulate import ManySimulator as ManySimulator  # provisional
from simcore.many.simulate import simulate_many as simulate_many  # provisional
from simcore.memo import FactBook as FactBook  # provisional
from simcore.memory.fit import MemoryFit as MemoryFit  # provisional
from simcore.memory.footprint import Footprint as Footprint
from simcore.memory.footprint import footprint as footprint
from simcore.network import BACKENDS as BACKENDS  # provisional
from simcore.network import DEFAULT_BACKEND as DEFAULT_BACKEND  # provisional
from simcore.network import Arrival as Arrival  # provisional
from simcore.network import ExternalNetwork as ExternalNetwork  # provisional
from simcore.network import NetworkBackend as NetworkBackend  # provisional
from simcore.network import NetworkDimension as NetworkDimension  # provisional
from simcore.parts import BEYOND_M as BEYOND_M  # provisional
from simcore.parts import GBPS as GBPS  # provisional
from simcore.parts import HALL_ENDPOINTS as HALL_ENDPOINTS  # provisional
from simcore.parts import HALL_M as HALL_M  # provisional
from simcore.parts import RACK_M as RACK_M  # provisional
from simcore.parts import ROW_M as ROW_M  # provisional
from simcore.parts import BillLine as BillLine  # provisional
from simcore.parts import Catalogue as Catalogue  # provisional
from simcore.parts import HostPorts as HostPorts  # provisional
from simcore.parts import Links as Links  # provisional
from simcore.parts import NetworkBill as NetworkBill  # provisional
from simcore.parts import Part as Part  # provisional
from simcore.parts import bill_line as bill_line  # provisional
from simcore.parts import cabled as cabled  # provisional
from simcore.parts import cheapest_cables as cheapest_cables  # provisional
from simcore.parts import merged_lines as merged_lines  # provisional
from simcore.parts import network_bill as network_bill  # provisional
from simcore.parts import shipped_parts as shipped_parts  # provisional
from simcore.plugins import source_digests as source_digests  # provisional
from simcore.public_names import lazy_names as lazy_names  # provisional
from simcore.registry import Registry as Registry  # provisional
from simcore.registry import class_of as class_of  # provisional
from simcore.registry import did_you_mean as did_you_mean  # provisional
from simcore.result import IterationResult as IterationResult
from simcore.result import StageTimes as StageTimes
from simcore.schema import Bytes as Bytes  # provisional
from simcore.schema import BytesPerS as BytesPerS  # provisional
from simcore.schema import KgPerKwh as KgPerKwh  # provisional
from simcore.schema import PerYear as PerYear  # provisional
from simcore.schema import Schema as Schema  # provisional
from simcore.schema import Seconds as Seconds  # provisional
from simcore.schema import Usd as Usd  # provisional
from simcore.schema import UsdPerGBps as UsdPerGBps  # provisional
from simcore.schema import UsdPerHour as UsdPerHour  # provisional
from simcore.schema import UsdPerKwh as UsdPerKwh  # provisional
from simcore.schema import Watts as Watts  # provisional
from simcore.schema import WattsPerGBps as WattsPerGBps  # provisional
from simcore.serving import Answering as Answering  # provisional
from simcore.serving import Reading as Reading  # provisional
from simcore.serving import Service as Service  # provisional
from simcore.serving import ServiceChecks as ServiceChecks  # provisional
from simcore.serving import ServiceResult as ServiceResult  # provisional
from simcore.serving import ServiceSimulator as ServiceSimulator  # provisional
from simcore.serving import ServiceTemplate as ServiceTemplate  # provisional
from simcore.serving import attribute_service as attribute_service  # provisional
from simcore.serving import check_pools_fill as check_pools_fill  # provisional
from simcore.serving import load_service as load_service  # provisional
from simcore.serving import simulate_service as simulate_service  # provisional
from simcore.simulation import Simulator as Simulator
from simcore.simulation import attribute_run as attribute_run  # provisional
from simcore.simulation import explain_run as explain_run  # provisional
from simcore.simulation import simulate as simulate
from simcore.simulation import simulate_run as simulate_run
from simcore.simulation import timeline_run as timeline_run  # provisional
from simcore.terms import CollectiveKind as CollectiveKind
from simcore.terms import Precision as Precision
from simcore.topologies import TOPOLOGIES as TOPOLOGIES
from simcore.topologies import Topology as Topology
from simcore.units import FACTORS as FACTORS  # provisional
from simcore.units import format_memory as format_memory
from simcore.units import format_quantity as format_quantity
from simcore.units import parse_quantity as parse_quantity
from simcore.units import plain_sum as plain_sum  # provisional
from simcore.validation import Band as Band  # provisional
from simcore.validation import SiblingError as SiblingError  # provisional
from simcore.validation import Site as Site  # provisional
from simcore.validation import accelerator_trust as accelerator_trust  # provisional
from simcore.validation import load_calibration as load_calibration  # provisional
from simcore.validation import prediction_band as prediction_band  # provisional
from simcore.validation import sibling_error as sibling_error  # provisional
from simcore.validation import validated_band as validated_band  # provisional
from simcore.workload import Model as Model
from simcore.workload import ParallelPlan as ParallelPlan
from simcore.workload import TrainingWorkload as TrainingWorkload
from simcore.workload import Updates as Updates  # provisional
from simcore.workload import Workload as Workload  # provisional
from simcore.workload import load_model as load_model
from simcore.workload import load_plan as load_plan
from simcore.workload import load_workload as load_workload
from simcore.workload.base import Extent as Extent  # provisional
from simcore.workload.base import Rule as Rule  # provisional
from simcore.workload.base import WithoutTokens as WithoutTokens  # provisional
from simcore.workload.graph import Kernel as Kernel  # provisional
from simcore.workload.kinds import KINDS as KINDS  # provisional
from simcore.workload.kinds import CnnWorkload as CnnWorkload
from simcore.workload.kinds import DlrmWorkload as DlrmWorkload
from simcore.workload.kinds import InferenceWorkload as InferenceWorkload
from simcore.workload.npu_share import NpuShare as NpuShare  # provisional
from simcore.workload.program.layer import BlockParameters as BlockParameters  # provisional
from simcore.workload.program.layer import LayerRow as LayerRow  # provisional
from simcore.workload.program.layer import LayerWork as LayerWork  # provisional
from simcore.workload.rules import replica_rules as replica_rules  # provisional
from simcore.workload.schedules import SCHEDULES as SCHEDULES  # provisional
from simcore.workload.schedules import PipelineSchedule as PipelineSchedule  # provisional
from simcore.workload.schedules import Units as Units  # provisional

__version__: str
