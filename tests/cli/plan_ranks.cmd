2 plan models/tiny.yaml --ranks=2
2 plan models/tiny.yaml --link=20us,10Gbit/s
2 plan models/tiny.yaml --sum-ranks
2 plan models/tiny.yaml --ranks=1 --link=20us,10Gbit/s
2 plan models/tiny.yaml --ranks=2 --link=20us
2 plan models/tiny.yaml --ranks=2 --link=20us,10Gbit
2 plan models/tiny.yaml --ranks=2 --link=20,10Gbit/s
2 plan models/tiny.yaml --ranks=2 --link=0us,10Gbit/s
2 plan models/tiny.yaml --ranks=2 --link=-1us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=11s,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=0x10us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=1e-3us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=0.0009us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=1us,1e-300GB/s
2 plan models/tiny.yaml --ranks=2 --link=1us,0.0009GB/s
2 plan models/tiny.yaml --ranks=2 --link=1us,1000001GB/s
2 plan models/tiny.yaml --ranks=2 --link=1us,infGB/s
2 plan models/tiny.yaml --ranks=2 --link=1.2.3us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=.us,1GB/s
2 plan models/tiny.yaml --ranks=2 --link=20us,10Gbit/s --format=svg
3 plan models/tiny.yaml --ranks=5 --link=20us,10Gbit/s
2 plan models/tiny.yaml --threads=1
