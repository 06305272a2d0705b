"""What acts in a joint: drives, friction, stops. See `hydromechs.actuation` for the components that put them into a plant."""

from ._drive import Drive, Servo, Torque
from ._friction import Friction, FrictionForce
from ._hydraulic import Hydraulic
from ._motor import Motor
from ._stops import Stops

__all__ = ["Drive", "Friction", "FrictionForce", "Hydraulic", "Motor", "Servo", "Stops", "Torque"]
