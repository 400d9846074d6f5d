"""English words that are also names of entities."""

from __future__ import annotations

_ENGLISH_WORDS = """
    a able act acts age aid aim air all also an and any ape apex arc are arm art as ask at bad bag bar bat be
    bed best bid big bit blood bod both box brain but by call camp can cap car care case cast cat cell cells
    chat chip chop clock close coil cold come comp cope copper core cost cut dam damage data day deck did die
    dim dish do does dose dot down drop dry due each ear eat ego else end era even ever eye face fact fade fall
    fan far fast fat few fig find fire fish fit flap for form found four fox free fry full fur fuse fused gap
    gas gem get give go god gray great grid had hand hang hard has have he heart help her here him hip his hit
    hold hole hook hop hope hot hour how hub hunk i if impact in inch ink into is it its jam jet job joy just
    keep key kin kit lab lap large last lead left less let lid lie life lift light like line link lip list live
    load lock log long lot love low lump lung made mag main make male man many map mark mars mask mass match max
    may me mean men mere met mice mid mild mind mint mix moan mock model mog more most much must my name nap
    near net never new next night nine no node noise none noon nor normal nose not note now null of off often
    oil old on once one only open or orbit other our out oval over own pace pack page pain pair pal pan part
    past pat path peak pen per phase pick pin pit plan play plus point pop port post prep press prey prior pro
    pull pump pure put rack rain ram ran range rap rare rat rate raw red reel rent rest rid ring rise role root
    rose rough run safe sag same save say score sea see seed seem self sell send set shad shall she sheet ship
    shock shot show side sight sign six skip sky slit slow small smell snap so soft some son soon spare spice
    spin spot star state stay steel stem step still stop strong such sun sure swap tag take talk tall tan tank
    tap tar tax team tell ten term test text than that the their them then there they thick thin thing this
    three tie tight time tip to too top torn toy trace track trap tree trim trio true try tub turn twin two type
    under unit until up upon us use used value van vary very via view vital wait walk wall want warm was wash
    wave way we weak well went were wet what when where which while who whole whom why will win with within wiz
    wool word work worm would yes yet you your zip
"""
ENGLISH = frozenset(_ENGLISH_WORDS.split())
"""Words so that a symbol spelt like one counts only as written (`SET`, `CAT`) or beside gene words."""
_EVERYDAY_WORDS = """
    abnormal abuse accident agitation anger appendage application arm artery assault association attempt aura
    battery behavior bleeding blister blood burn cell cells choking chromosome collapse condition control crisis
    crying cyst death deaths decreased dependence depression development difficulty discomfort disease diseases
    disorder drug ear effect effects exposure face fall falls fasting fear flow food formation gagging gas growth
    head hip
    host hunger increased infection injury interaction intracellular investigation iris iron irritation knee leg
    lesion light lip locomotion mass membrane metabolism mouth nail neck nerve nodule normal nose orbit overdose
    pain pathogenesis phase point polyp pregnancy problem procedure puberty pupil rage reaction recurrence
    redness relapse response rupture scab scar score scratch secretion semen shaking shock shoulder signaling
    staring stress suicide support surgery sweat swelling tension thirst tic tongue transcription translation
    trauma unrest unwell vein violent warmth water weakness weight worry wound
"""
EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
"""Names that are everyday words: recognised with a low score, so that claims prefer better entities."""
