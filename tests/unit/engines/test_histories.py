"""Histories of classes of NPUs: whom they tell apart, and which of them meet."""

import numpy as np

from simcore.engines.classes.histories import Histories
from simcore.engines.classes.places import ClassGroups, NpuClasses
from simcore.workload.graph import Axis


def four_classes_in_pairs() -> NpuClasses:
    """Classes 0 and 1 share groups, as do 2 and 3."""
    groups = ClassGroups(classes=np.array([[0, 1], [2, 3]]), row_of=np.array([0, 0, 1, 1]))
    return NpuClasses(class_of=np.array([0, 1, 2, 3]), groups={Axis.DP: groups})


def test_groups_of_equal_histories_are_one_and_meet_nobody_else() -> None:
    classes = four_classes_in_pairs()
    alike = Histories.told_apart(classes, np.array([5, 9, 5, 9]))
    assert alike.of_class.tolist() == [0, 1, 0, 1]
    assert alike.met(Axis.DP) == [[(0, 1)]]
    assert len(alike.patterns(Axis.DP).histories) == 1
    unlike = Histories.told_apart(classes, np.array([5, 9, 7, 8]))
    assert unlike.met(Axis.DP) == [[(0, 1)], [(2, 3)]]


def test_a_history_parts_where_one_of_its_groups_has_begun_and_another_has_not() -> None:
    before = Histories.told_apart(four_classes_in_pairs(), np.array([0, 1, 0, 2]))
    assert before.met(Axis.DP) == [[(0, 1), (0, 2)]]  # of one orbit, in two parts
    after = before.parted(Axis.DP, [0, 1])
    assert after.of_class.tolist() == [0, 1, 2, 3]
    assert not before.share(np.array([3, 4, 5, 6]))
    assert before.share(np.array([3, 4, 3, 6]))
