// SPDX-License-Identifier: Apache-2.0

/// The characters beyond ASCII whose compatibility form (Unicode NFKC), in lower case, is ASCII and no longer in octets.
///
/// Made from UnicodeData; the full-width forms and the mathematical letters are in ``Lookalike``. An entry is
/// `character=text`, or `character+count=first` for a run of characters that stand for a run; `~S` is a space.
enum LookalikeTable {
    static let texts: [UInt32: [UInt8]] = {
        var texts: [UInt32: [UInt8]] = [:]
        for entry in source.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            let numbers = entry[..<equals].split(separator: "+").compactMap { UInt32($0, radix: 16) }
            let text = Array(entry[entry.index(after: equals)...].utf8)
            guard let first = numbers.first, let octet = text.first else { continue }
            guard numbers.count > 1 else {
                texts[first] = text == [0x7E, 0x53] ? [ASCII.space] : text
                continue
            }
            for offset in 0..<numbers[1] {
                texts[first + offset] = [octet &+ UInt8(truncatingIfNeeded: offset)]
            }
        }
        // Special casing: the sharp s in upper case, the Turkish letters i.
        for scalar: UInt32 in [0xDF, 0x1E9E] { texts[scalar] = [0x73, 0x73] }
        for scalar: UInt32 in [0x130, 0x131] { texts[scalar] = [0x69] }
        return texts
    }()

    private static let source = """
        a0=~S aa=a b2+2=2 b9=1 ba=o 132=ij 133=ij 17f=s 1c7=lj 1c8=lj 1c9=lj 1ca=nj 1cb=nj 1cc=nj 1f1=dz
        1f2=dz 1f3=dz 2b0=h 2b2=j 2b3=r 2b7=w 2b8=y 2e1=l 2e2=s 2e3=x 37e=; 1d2c=a 1d2e=b 1d30+2=d 1d33+8=g
        1d3c=o 1d3e=p 1d3f=r 1d40+2=t 1d42=w 1d43=a 1d47=b 1d48+2=d 1d4d=g 1d4f=k 1d50=m 1d52=o 1d56=p
        1d57+2=t 1d5b=v 1d62=i 1d63=r 1d64+2=u 1d9c=c 1da0=f 1dbb=z 1fef=` 2000=~S 2001=~S 2002=~S 2003=~S
        2004=~S 2005=~S 2006=~S 2007=~S 2008=~S 2009=~S 200a=~S 2024=. 2025=.. 2026=... 202f=~S 203c=!!
        2047=?? 2048=?! 2049=!? 205f=~S 2070=0 2071=i 2074+6=4 207a=+ 207c== 207d+2=( 207f=n 2080+a=0 208a=+
        208c== 208d+2=( 2090=a 2091=e 2092=o 2093=x 2095=h 2096+4=k 209a=p 209b+2=s 20a8=rs 2100=a/c
        2101=a/s 2102=c 2105=c/o 2106=c/u 210a+2=g 210c=h 210d=h 210e=h 2110=i 2111=i 2112=l 2113=l 2115=n
        2116=no 2119+3=p 211c=r 211d=r 2120=sm 2121=tel 2122=tm 2124=z 2128=z 212a=k 212c+2=b 212f=e
        2130+2=e 2133=m 2134=o 2139=i 213b=fax 2145=d 2146+2=d 2148+2=i 2160=i 2161=ii 2162=iii 2163=iv
        2164=v 2165=vi 2166=vii 2168=ix 2169=x 216a=xi 216b=xii 216c=l 216d+2=c 216f=m 2170=i 2171=ii
        2172=iii 2173=iv 2174=v 2175=vi 2176=vii 2178=ix 2179=x 217a=xi 217b=xii 217c=l 217d+2=c 217f=m
        2460+9=1 2469=10 246a=11 246b=12 246c=13 246d=14 246e=15 246f=16 2470=17 2471=18 2472=19 2473=20
        2474=(1) 2475=(2) 2476=(3) 2477=(4) 2478=(5) 2479=(6) 247a=(7) 247b=(8) 247c=(9) 2488=1. 2489=2.
        248a=3. 248b=4. 248c=5. 248d=6. 248e=7. 248f=8. 2490=9. 2491=10. 2492=11. 2493=12. 2494=13. 2495=14.
        2496=15. 2497=16. 2498=17. 2499=18. 249a=19. 249b=20. 249c=(a) 249d=(b) 249e=(c) 249f=(d) 24a0=(e)
        24a1=(f) 24a2=(g) 24a3=(h) 24a4=(i) 24a5=(j) 24a6=(k) 24a7=(l) 24a8=(m) 24a9=(n) 24aa=(o) 24ab=(p)
        24ac=(q) 24ad=(r) 24ae=(s) 24af=(t) 24b0=(u) 24b1=(v) 24b2=(w) 24b3=(x) 24b4=(y) 24b5=(z) 24b6+1a=a
        24d0+1a=a 24ea=0 2a74=::= 2a75=== 2a76==== 2c7c=j 2c7d=v 3000=~S 3250=pte 3251=21 3252=22 3253=23
        3254=24 3255=25 3256=26 3257=27 3258=28 3259=29 325a=30 325b=31 325c=32 325d=33 325e=34 325f=35
        32b1=36 32b2=37 32b3=38 32b4=39 32b5=40 32b6=41 32b7=42 32b8=43 32b9=44 32ba=45 32bb=46 32bc=47
        32bd=48 32be=49 32bf=50 32cc=hg 32cd=erg 32ce=ev 32cf=ltd 3371=hpa 3372=da 3373=au 3374=bar 3375=ov
        3376=pc 3377=dm 3378=dm2 3379=dm3 337a=iu 3380=pa 3381=na 3383=ma 3384=ka 3385=kb 3386=mb 3387=gb
        3388=cal 338a=pf 338b=nf 338e=mg 338f=kg 3390=hz 3391=khz 3392=mhz 3393=ghz 3394=thz 3396=ml 3397=dl
        3398=kl 3399=fm 339a=nm 339c=mm 339d=cm 339e=km 339f=mm2 33a0=cm2 33a1=m2 33a2=km2 33a3=mm3 33a4=cm3
        33a5=m3 33a6=km3 33a9=pa 33aa=kpa 33ab=mpa 33ac=gpa 33ad=rad 33b0=ps 33b1=ns 33b3=ms 33b4=pv 33b5=nv
        33b7=mv 33b8=kv 33b9=mv 33ba=pw 33bb=nw 33bd=mw 33be=kw 33bf=mw 33c3=bq 33c4=cc 33c5=cd 33c7=co.
        33c8=db 33c9=gy 33ca=ha 33cb=hp 33cc=in 33cd=kk 33ce=km 33cf=kt 33d0=lm 33d1=ln 33d2=log 33d3=lx
        33d4=mb 33d5=mil 33d6=mol 33d7=ph 33d9=ppm 33da=pr 33db=sr 33dc=sv 33dd=wb 33ff=gal a7f2=c a7f3=f
        a7f4=q fb00=ff fb01=fi fb02=fl fb03=ffi fb04=ffl fb05=st fb06=st fb29=+ fe10=, fe13+2=: fe15=!
        fe16=? fe19=... fe30=.. fe33=_ fe34=_ fe35+2=( fe37={ fe38=} fe47=[ fe48=] fe4d=_ fe4e=_ fe4f=_
        fe50=, fe52=. fe54=; fe55=: fe56=? fe57=! fe59+2=( fe5b={ fe5c=} fe5f=# fe60=& fe61+2=* fe63=-
        fe64=< fe65=> fe66== fe68=\\ fe69+2=$ fe6b=@ 107a5=q 1f100=0. 1f101=0, 1f102=1, 1f103=2, 1f104=3,
        1f105=4, 1f106=5, 1f107=6, 1f108=7, 1f109=8, 1f10a=9, 1f110=(a) 1f111=(b) 1f112=(c) 1f113=(d)
        1f114=(e) 1f115=(f) 1f116=(g) 1f117=(h) 1f118=(i) 1f119=(j) 1f11a=(k) 1f11b=(l) 1f11c=(m) 1f11d=(n)
        1f11e=(o) 1f11f=(p) 1f120=(q) 1f121=(r) 1f122=(s) 1f123=(t) 1f124=(u) 1f125=(v) 1f126=(w) 1f127=(x)
        1f128=(y) 1f129=(z) 1f12b=c 1f12c=r 1f12d=cd 1f12e=wz 1f130+1a=a 1f14a=hv 1f14b=mv 1f14c=sd 1f14d=ss
        1f14e=ppv 1f14f=wc 1f16a=mc 1f16b=md 1f16c=mr 1f190=dj 1fbf0+a=0
        """
}
