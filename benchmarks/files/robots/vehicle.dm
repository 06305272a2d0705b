# a vehicle with an arm of two links and a leg that branches
System {
  name "vehicle and arm"
  MobileBase {
    name "vehicle"
    mass 120
    cgPos 0.02 -0.01 0.05
    Ibar 9 0.1 -0.2   0.1 12 0.3   -0.2 0.3 14
    dispFluidVol 0.118   cbPos 0.01 0 -0.04
    AddedMass 4 0 0 0 -3 0   0 6 0 2 0 0   0 0 7 0 0 0   0 2 0 60 0 0   -3 0 0 0 90 0   0 0 0 0 0 110
    axis 0 Cd 1.1 length 1.2 radius 0.3
    pos 1 2 3   pose 0.1 -0.2 0.7   vel 0.1 0.2 0.3 1 2 -1   # angular first
    acc 0 0 0 0 0 0
  }
  SerialChain {
    RevoluteLink {
      mass 8 cg_pos 0.2 0 0.01 I_bar 0.1 0 0 0 0.5 0 0 0 0.5
      a_MDH 0.6 alpha_MDH 1.2 d_MDH 0.1 theta_MDH 0.4 d_branch 0.2 theta_branch -0.3
      disp_fluid_vol 0.006 cb_pos 0.2 0 0 axis 0 C_d 1.2 length 0.4 radius 0.05
      Actuator { type 3 ratio 100 }
    }
    PrismaticLink {
      mass 3 cgPos 0 0.1 0.2 Ibar 0.4 0 0 0 0.4 0 0 0 0.2
      aMDH 0.4 alphaMDH -1.5707963267948966 dMDH 0.15 thetaMDH 0.2 jointVel 0.05
    }
    EndEffector { stiffness 1e4 }
  }
  Tree {
    RevoluteLink { mass 5 cgPos 0.1 0 0 Ibar 0.05 0 0 0 0.2 0 0 0 0.2 aMDH -0.3 alphaMDH 0.5 dMDH 0 thetaMDH 0 jointPos 0.9 }
    BallnSocketLink { name "pad" mass 1 cgPos 0 0 0.03 Ibar 0.01 0 0 0 0.01 0 0 0 0.01 p 0.3 0 0.1 q 0.1 0.2 0.3 predecessor 1 }
    RevoluteLink { mass 2 cgPos 0.1 0 0 Ibar 0.01 0 0 0 0.05 0 0 0 0.05 aMDH 0.2 alphaMDH 0 dMDH 0 thetaMDH 0.3 predecessor 1 }
  }
}
