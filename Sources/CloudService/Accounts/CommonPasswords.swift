// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Passwords that attackers try first, in lower case: words, names and keyboard patterns that the published statistics of leaked passwords
/// have had near their tops for years, and words of this server.
///
/// It was written down from common knowledge, is not a copy of a list, and doesn't replace a service that knows all leaked passwords.
/// ``PasswordRule`` finds them with appended digits and signs, too; runs and repetitions of letters are not in it.
enum CommonPasswords {
    static let all = Set(text.split(whereSeparator: \.isWhitespace).map(String.init))

    private static let text = """
        password passw0rd p@ssword p@ssw0rd pa55word pass1word password1 passwort passwords mypassword thepassword newpassword
        mynewpassword yourpassword changeme changeit changethis letmein letmeinnow letmeinplease welcome welcome1 welcomeback
        welcomehome qwerty qwerty1 qwertyuiop qwertyui qwertyuio qwertyasdf qwertyasdfgh qwertyasdfzxcv qwerty123456 qwert12345 qazwsx
        qazwsxedc qazwsxedcrfv 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 zaq12wsx zaq1zaq1 zaq1xsw2 asdfghjkl asdfghjk asdfasdf asdfqwer asdf1234
        asdfjkl asdfzxcv zxcvbnm zxcvbnm1 zxcvzxcv azerty azertyuiop qwertz qwertzuiop yxcvbnm 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y
        q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 a1b2c3d4 a1b2c3d4e5 a1s2d3f4 abc12345 abcd1234 abcdef123456 abc123456 abcde12345 admin
        administrator adminadmin admin1234 admin12345 admin123456 adminpassword administrator1 root rootroot rootpassword toor
        superuser superadmin sysadmin master mastermind masterkey master123 default defaultpassword guest guestguest test testing
        testtest test1234 test12345 tester123 testpassword login loginlogin logitech user username userpassword user1234 temp temporary
        temppassword secret secretpassword topsecret mysecret secret123 access accessdenied private security secure computer computer1
        internet internet1 server server123 network samsung samsung1 microsoft windows windows10 linux ubuntu debian google facebook
        instagram twitter youtube yahoo hotmail gmail linkedin myspace myspace1 playstation nintendo xboxlive iloveyou iloveyou1
        iloveyou2 ilovegod iloveme iloveyou! loveyou lovelove loveme lovers loverboy lovergirl ilovejesus ilovemom ilovemyself
        sweetheart princess princess1 sunshine sunshine1 football football1 baseball baseball1 basketball basketball1 superman
        superman1 batman spiderman spiderman1 ironman pokemon pokemon1 pikachu starwars starwars1 startrek trustno1 trustnoone whatever
        whatever1 monkey monkey123 dragon dragon123 dragonball shadow shadow123 michael michael1 jennifer jennifer1 jonathan jonathan1
        jordan23 jessica jessica1 michelle michelle1 elizabeth elizabeth1 alexander alexander1 benjamin benjamin1 christian christian1
        christopher christine christina nicholas nicholas1 matthew matthew1 patrick patrick1 daniel daniel123 danielle danielle1
        samantha samantha1 stephanie stephen1 victoria victoria1 veronica catherine charlotte charlie charlie1 brandon brandon1 anthony
        anthony1 andrew andrew123 william william1 richard richard1 robert robert123 thomas thomas123 gabriel gabriel1 fernando
        francisco alejandro alejandra sebastian cristina carolina valentina isabella angelica angelina jasmine caroline margaret
        mercedes mercedes1 porsche ferrari lamborghini corvette mustang mustang1 chevrolet chevy123 yamaha harley harleydavidson
        cowboys cowboys1 steelers steelers1 yankees yankees1 lakers lakers24 redsox chelsea chelsea1 liverpool liverpool1 arsenal
        arsenal1 barcelona barcelona1 realmadrid manchester manchesterunited juventus corinthians flamengo palmeiras bayern
        bayernmunich dortmund galatasaray fenerbahce besiktas killer killer123 hunter hunter123 soccer soccer123 hockey hockey123
        tennis golfgolf ginger ginger123 cookie cookie123 pepper pepper123 summer summer123 summer2020 winter winter123 autumn spring
        spring123 january february september october november december monday tuesday wednesday thursday friday saturday sunday
        butterfly butterfly1 strawberry blueberry chocolate chocolate1 cheesecake banana bananas orange apple123 purple purple123
        rainbow rainbow1 flower flowers flower123 diamond diamond1 goldfish elephant dolphin dolphins scorpion tiger123 lovebug ladybug
        panther panthers eagles eagles123 phoenix phoenix1 mickey mickeymouse minnie tinkerbell hellokitty cinderella slipknot
        metallica nirvana eminem greenday blink182 linkinpark beatles rockstar rockstar1 guitar guitar123 music123 babygirl babygirl1
        babyboy babyboy1 babyblue sexygirl sexylady hottie hottie123 hotstuff bigdaddy handsome beautiful beautiful1 gorgeous goodluck
        jesus jesus123 jesuschrist jesusislord godisgood godislove blessed blessed1 heaven angels angel123 faithful hallelujah freedom
        freedom1 forever forever1 friends friends1 friendship family family123 happiness happy123 smile123 remember password0
        nopassword idontknow dontknow nothing1 anything something everything fuckyou fuckyou1 fuckyou2 fuckoff asshole asshole1
        bullshit pussycat bitches bitchass biteme ihateyou fuckme cheese123 mother123 mommy123 daddy123 brother sister123 grandma
        internet123 telephone telefone holiday vacation birthday correcthorsebatterystaple hello hello123 hello1234 hellohello
        helloworld hellothere goodbye goodmorning goodnight london london123 newyork newyork1 california florida texas123 america
        america1 canada australia deutschland germany france espana brasil mexico mexico1 schatz hallo hallo123 hallo1234 passwort1
        passwort123 motdepasse motdepasse1 bonjour bonjour1 soleil doudou loulou azerty123 contrasena contraseña teamo teamomucho
        senha123 senhasenha parola heslo1234 haslo123 qwerty12 zxcvbn asdfgh aaaaaa1 tarn tarnadmin tarnpassword tarnserver 147258369
        987654321 123456789 12345678 1234567890 0123456789 123123123 112233445566 11223344 111222333 123321123 147852369 159357 159753
        741852963 789456123 987654321a 123456789a 123456789q 12345678a 1234567a a123456789 a12345678 q123456789 qq123456 aa123456
        aaa123456 woaini1314 woaini520 5201314520 1314520 12qwaszx 1234qwer qwer1234 qwerasdf qweasdzxc qweqweqwe qwe123qwe asd123asd
        zxc123zxc 123qweasd 123qweasdzxc 1qaz1qaz 2wsx3edc 3edc4rfv
        """
}
