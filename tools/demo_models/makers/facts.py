"""Small tables of facts from which qa_pairs.py makes questions and answers."""

# country: capital, by continent
COUNTRIES = {
    "Europe": """France: Paris; Germany: Berlin; Italy: Rome; Spain: Madrid; Portugal: Lisbon; the United Kingdom: London;
Ireland: Dublin; the Netherlands: Amsterdam; Belgium: Brussels; Luxembourg: Luxembourg City; Switzerland: Bern;
Austria: Vienna; Poland: Warsaw; the Czech Republic: Prague; Slovakia: Bratislava; Hungary: Budapest; Romania: Bucharest;
Bulgaria: Sofia; Greece: Athens; Croatia: Zagreb; Slovenia: Ljubljana; Serbia: Belgrade; Bosnia and Herzegovina: Sarajevo;
Montenegro: Podgorica; North Macedonia: Skopje; Albania: Tirana; Denmark: Copenhagen; Sweden: Stockholm; Norway: Oslo;
Finland: Helsinki; Iceland: Reykjavik; Estonia: Tallinn; Latvia: Riga; Lithuania: Vilnius; Belarus: Minsk; Ukraine: Kyiv;
Moldova: Chisinau; Russia: Moscow; Malta: Valletta; Monaco: Monaco; Andorra: Andorra la Vella; Liechtenstein: Vaduz;
San Marino: San Marino""",
    "Asia": """China: Beijing; Japan: Tokyo; South Korea: Seoul; North Korea: Pyongyang; Mongolia: Ulaanbaatar; India: New Delhi;
Pakistan: Islamabad; Bangladesh: Dhaka; Nepal: Kathmandu; Bhutan: Thimphu; Afghanistan: Kabul; Iran: Tehran; Iraq: Baghdad;
Syria: Damascus; Lebanon: Beirut; Jordan: Amman; Israel: Jerusalem; Saudi Arabia: Riyadh; Yemen: Sanaa; Oman: Muscat;
the United Arab Emirates: Abu Dhabi; Qatar: Doha; Bahrain: Manama; Kuwait: Kuwait City; Turkey: Ankara; Georgia: Tbilisi;
Armenia: Yerevan; Azerbaijan: Baku; Kazakhstan: Astana; Uzbekistan: Tashkent; Turkmenistan: Ashgabat; Kyrgyzstan: Bishkek;
Tajikistan: Dushanbe; Thailand: Bangkok; Vietnam: Hanoi; Laos: Vientiane; Cambodia: Phnom Penh; Myanmar: Naypyidaw;
Malaysia: Kuala Lumpur; Indonesia: Jakarta; the Philippines: Manila; Brunei: Bandar Seri Begawan; the Maldives: Male;
Cyprus: Nicosia""",
    "Africa": """Egypt: Cairo; Libya: Tripoli; Tunisia: Tunis; Algeria: Algiers; Morocco: Rabat; Sudan: Khartoum; Ethiopia: Addis Ababa;
Eritrea: Asmara; Djibouti: Djibouti; Somalia: Mogadishu; Kenya: Nairobi; Uganda: Kampala; Rwanda: Kigali; Burundi: Gitega;
Tanzania: Dodoma; Mozambique: Maputo; Malawi: Lilongwe; Zambia: Lusaka; Zimbabwe: Harare; Botswana: Gaborone;
Namibia: Windhoek; South Africa: Pretoria; Lesotho: Maseru; Angola: Luanda; Gabon: Libreville; Cameroon: Yaounde;
Chad: N'Djamena; Niger: Niamey; Nigeria: Abuja; Benin: Porto-Novo; Togo: Lome; Ghana: Accra; the Ivory Coast: Yamoussoukro;
Liberia: Monrovia; Sierra Leone: Freetown; Guinea: Conakry; Senegal: Dakar; the Gambia: Banjul; Mali: Bamako;
Burkina Faso: Ouagadougou; Mauritania: Nouakchott; Madagascar: Antananarivo; Mauritius: Port Louis; the Seychelles: Victoria;
Cape Verde: Praia""",
    "North America": """the United States: Washington, D.C.; Canada: Ottawa; Mexico: Mexico City; Guatemala: Guatemala City;
Belize: Belmopan; Honduras: Tegucigalpa; El Salvador: San Salvador; Nicaragua: Managua; Costa Rica: San Jose;
Panama: Panama City; Cuba: Havana; Jamaica: Kingston; Haiti: Port-au-Prince; the Dominican Republic: Santo Domingo;
the Bahamas: Nassau; Barbados: Bridgetown; Trinidad and Tobago: Port of Spain; Grenada: Saint George's""",
    "South America": """Brazil: Brasilia; Argentina: Buenos Aires; Chile: Santiago; Peru: Lima; Bolivia: Sucre; Ecuador: Quito;
Colombia: Bogota; Venezuela: Caracas; Uruguay: Montevideo; Paraguay: Asuncion; Guyana: Georgetown; Suriname: Paramaribo""",
    "Oceania": """Australia: Canberra; New Zealand: Wellington; Fiji: Suva; Papua New Guinea: Port Moresby; Samoa: Apia; Tonga: Nuku'alofa;
Vanuatu: Port Vila; the Solomon Islands: Honiara""",
}

# The countries people ask about most; lists draw on these more often.
WELL_KNOWN = """France Germany Italy Spain Portugal Ireland Greece Austria Poland Hungary Denmark Sweden Norway Finland Russia China
Japan India Thailand Vietnam Indonesia Egypt Morocco Kenya Nigeria Canada Mexico Cuba Brazil Argentina Chile Peru Australia""".split()

# country: language; currency
LANGUAGES = """France: French; Germany: German; Italy: Italian; Spain: Spanish; Portugal: Portuguese; the United Kingdom: English;
Austria: German; Poland: Polish; Hungary: Hungarian; Greece: Greek; Denmark: Danish; Sweden: Swedish; Norway: Norwegian;
Finland: Finnish; Iceland: Icelandic; Ukraine: Ukrainian; Russia: Russian; China: Chinese; Japan: Japanese; South Korea: Korean;
Thailand: Thai; Vietnam: Vietnamese; Turkey: Turkish; Egypt: Arabic; Morocco: Arabic; Saudi Arabia: Arabic; Iran: Persian;
Israel: Hebrew; Mexico: Spanish; Argentina: Spanish; Chile: Spanish; Peru: Spanish; Cuba: Spanish; Brazil: Portuguese;
the United States: English; Australia: English; New Zealand: English; the Netherlands: Dutch; Romania: Romanian; Bulgaria: Bulgarian;
Croatia: Croatian; the Czech Republic: Czech; Mongolia: Mongolian; Indonesia: Indonesian"""

CURRENCIES = """France: the euro; Germany: the euro; Italy: the euro; Spain: the euro; Ireland: the euro; Greece: the euro;
the United Kingdom: the pound sterling; the United States: the US dollar; Canada: the Canadian dollar; Mexico: the Mexican peso;
Japan: the yen; China: the yuan; India: the Indian rupee; Russia: the ruble; Switzerland: the Swiss franc; Sweden: the Swedish krona;
Norway: the Norwegian krone; Denmark: the Danish krone; Poland: the zloty; Hungary: the forint; Turkey: the Turkish lira;
Brazil: the real; Argentina: the Argentine peso; South Africa: the rand; Egypt: the Egyptian pound; Australia: the Australian dollar;
South Korea: the won; Thailand: the baht; Vietnam: the dong; Israel: the shekel"""

# animal: kind; sound it makes; its young; what it eats; where it lives
ANIMALS = """dog: mammal; barks; puppy; meat and dog food; in homes with people
cat: mammal; meows; kitten; meat and fish; in homes with people
cow: mammal; moos; calf; grass and hay; on farms
horse: mammal; neighs; foal; grass, hay and oats; on farms and grasslands
sheep: mammal; bleats; lamb; grass; on farms and hills
pig: mammal; oinks; piglet; roots, grain and vegetables; on farms
duck: bird; quacks; duckling; water plants, seeds and insects; near ponds and rivers
hen: bird; clucks; chick; grain, seeds and insects; on farms
lion: mammal; roars; cub; meat; on the savannas of Africa
tiger: mammal; roars; cub; meat; in the forests of Asia
elephant: mammal; trumpets; calf; grass, leaves and fruit; in Africa and Asia
wolf: mammal; howls; pup; meat; in forests and on plains
bear: mammal; growls; cub; berries, fish and honey; in forests and mountains
frog: amphibian; croaks; tadpole; insects; in ponds and wet places
snake: reptile; hisses; snakelet; mice, eggs and small animals; in deserts, forests and fields
owl: bird; hoots; owlet; mice and small animals; in forests and barns
bee: insect; buzzes; larva; nectar and pollen; in hives
mouse: mammal; squeaks; pup; seeds and grain; in fields and houses
goat: mammal; bleats; kid; grass and leaves; on farms and mountains
goose: bird; honks; gosling; grass and seeds; near lakes and on farms
kangaroo: mammal; chortles; joey; grass and leaves; in Australia
penguin: bird; squawks; chick; fish; in Antarctica and on southern coasts
whale: mammal; sings; calf; krill and fish; in the ocean
dolphin: mammal; clicks and whistles; calf; fish; in the ocean
shark: fish; makes no sound; pup; fish and seals; in the ocean
salmon: fish; makes no sound; fry; insects and small fish; in rivers and the ocean
eagle: bird; screams; eaglet; fish and small animals; in mountains and near lakes
parrot: bird; squawks and talks; chick; seeds, nuts and fruit; in warm forests
rabbit: mammal; squeaks; kit; grass and vegetables; in fields and burrows
monkey: mammal; chatters; infant; fruit, leaves and insects; in warm forests
giraffe: mammal; hums; calf; leaves; on the savannas of Africa
zebra: mammal; barks; foal; grass; on the savannas of Africa
camel: mammal; grunts; calf; grass and desert plants; in deserts
fox: mammal; barks; kit; mice, birds and berries; in forests and fields
deer: mammal; grunts; fawn; grass, leaves and buds; in forests
crocodile: reptile; bellows; hatchling; fish and other animals; in warm rivers
turtle: reptile; makes no sound; hatchling; plants and small animals; in water and on land
butterfly: insect; makes no sound; caterpillar; nectar; in gardens and meadows
spider: arachnid; makes no sound; spiderling; insects; in webs, gardens and houses
ant: insect; makes no sound; larva; seeds and insects; in colonies under the ground
panda: mammal; bleats; cub; bamboo; in the mountains of China
koala: mammal; bellows; joey; eucalyptus leaves; in Australia"""

OPPOSITES = """hot: cold; big: small; tall: short; fast: slow; happy: sad; light: dark; day: night; up: down; left: right; old: young;
open: closed; full: empty; hard: soft; rich: poor; strong: weak; clean: dirty; wet: dry; early: late; near: far; high: low;
loud: quiet; good: bad; true: false; thick: thin; wide: narrow; heavy: light; easy: difficult; brave: afraid; first: last;
begin: end; buy: sell; win: lose; push: pull; give: take; love: hate; laugh: cry; remember: forget; always: never; inside: outside;
above: below; before: after; friend: enemy; summer: winter; north: south; east: west; black: white; sweet: sour; safe: dangerous;
deep: shallow; smooth: rough; sharp: blunt; alive: dead; arrive: leave; success: failure; question: answer; peace: war;
beautiful: ugly; cheap: expensive; polite: rude; ancient: modern; generous: selfish; honest: dishonest; possible: impossible"""

SYNONYMS = """big: large, huge, great; small: little, tiny, minor; happy: glad, cheerful, joyful; sad: unhappy, gloomy, sorrowful;
fast: quick, rapid, swift; smart: clever, bright, intelligent; beautiful: pretty, lovely, attractive; brave: bold, courageous, fearless;
angry: mad, furious, annoyed; begin: start, commence, open; end: finish, close, stop; easy: simple, effortless, plain;
hard: difficult, tough, demanding; rich: wealthy, well-off, prosperous; strong: powerful, sturdy, mighty; quiet: silent, calm, still;
afraid: scared, frightened, fearful; tired: weary, sleepy, exhausted; old: ancient, aged, elderly; new: fresh, modern, recent;
funny: amusing, comical, humorous; kind: gentle, caring, friendly; help: assist, aid, support; look: watch, see, observe;
talk: speak, chat, converse; walk: stroll, march, wander; cold: chilly, cool, icy; important: significant, major, essential;
strange: odd, unusual, peculiar; nice: pleasant, kind, lovely; good: fine, excellent, great; bad: poor, awful, terrible;
answer: reply, response, solution; house: home, dwelling, residence; job: work, occupation, profession; gift: present, donation, offering;
road: street, path, route; trip: journey, voyage, tour; correct: right, accurate, true; wrong: false, incorrect, mistaken"""

PLURALS = """child: children; man: men; woman: women; mouse: mice; goose: geese; foot: feet; tooth: teeth; person: people; ox: oxen;
sheep: sheep; fish: fish; deer: deer; leaf: leaves; knife: knives; wolf: wolves; life: lives; wife: wives; half: halves;
city: cities; baby: babies; story: stories; country: countries; box: boxes; bus: buses; church: churches; dish: dishes;
potato: potatoes; tomato: tomatoes; hero: heroes; cat: cats; dog: dogs; book: books; tree: trees; day: days; key: keys; house: houses"""

PAST = """go: went; see: saw; eat: ate; drink: drank; run: ran; swim: swam; sing: sang; write: wrote; read: read; speak: spoke; take: took;
give: gave; come: came; know: knew; think: thought; buy: bought; bring: brought; catch: caught; teach: taught; sleep: slept;
keep: kept; feel: felt; leave: left; meet: met; find: found; make: made; say: said; tell: told; sell: sold; stand: stood;
begin: began; break: broke; choose: chose; drive: drove; fly: flew; grow: grew; draw: drew; throw: threw; wear: wore; win: won;
walk: walked; play: played; talk: talked; jump: jumped; try: tried; study: studied; stop: stopped; dance: danced; love: loved"""

ELEMENTS = """hydrogen: H: 1; helium: He: 2; lithium: Li: 3; beryllium: Be: 4; boron: B: 5; carbon: C: 6; nitrogen: N: 7; oxygen: O: 8; fluorine: F: 9; neon: Ne: 10;
sodium: Na: 11; magnesium: Mg: 12; aluminum: Al: 13; silicon: Si: 14; phosphorus: P: 15; sulfur: S: 16; chlorine: Cl: 17; argon: Ar: 18; potassium: K: 19; calcium: Ca: 20;
iron: Fe: 26; nickel: Ni: 28; copper: Cu: 29; zinc: Zn: 30; silver: Ag: 47; tin: Sn: 50; iodine: I: 53; gold: Au: 79; mercury: Hg: 80; lead: Pb: 82; uranium: U: 92"""

# work: author or maker
WORKS = {
    "wrote": """Romeo and Juliet: William Shakespeare; Hamlet: William Shakespeare; Macbeth: William Shakespeare; Oliver Twist: Charles Dickens;
A Christmas Carol: Charles Dickens; Great Expectations: Charles Dickens; Pride and Prejudice: Jane Austen; Emma: Jane Austen;
Alice in Wonderland: Lewis Carroll; Treasure Island: Robert Louis Stevenson; Peter Pan: J. M. Barrie; The Jungle Book: Rudyard Kipling;
The Time Machine: H. G. Wells; Frankenstein: Mary Shelley; Dracula: Bram Stoker; Robinson Crusoe: Daniel Defoe; Don Quixote: Miguel de Cervantes;
War and Peace: Leo Tolstoy; Anna Karenina: Leo Tolstoy; Crime and Punishment: Fyodor Dostoevsky; The Three Musketeers: Alexandre Dumas;
Les Miserables: Victor Hugo; Moby Dick: Herman Melville; Tom Sawyer: Mark Twain; Little Women: Louisa May Alcott; The Odyssey: Homer;
The Iliad: Homer; Faust: Johann Wolfgang von Goethe; The Hobbit: J. R. R. Tolkien; 1984: George Orwell; Animal Farm: George Orwell;
The Little Prince: Antoine de Saint-Exupery; Around the World in Eighty Days: Jules Verne; The Call of the Wild: Jack London;
The Wonderful Wizard of Oz: L. Frank Baum; Gulliver's Travels: Jonathan Swift""",
    "painted": """the Mona Lisa: Leonardo da Vinci; The Last Supper: Leonardo da Vinci; The Starry Night: Vincent van Gogh; Sunflowers: Vincent van Gogh;
Guernica: Pablo Picasso; The Scream: Edvard Munch; Girl with a Pearl Earring: Johannes Vermeer; The Night Watch: Rembrandt; Water Lilies: Claude Monet;
the ceiling of the Sistine Chapel: Michelangelo; The Birth of Venus: Sandro Botticelli; The Kiss: Gustav Klimt""",
    "composed": """the Moonlight Sonata: Ludwig van Beethoven; The Four Seasons: Antonio Vivaldi; The Magic Flute: Wolfgang Amadeus Mozart;
Swan Lake: Pyotr Ilyich Tchaikovsky; The Nutcracker: Pyotr Ilyich Tchaikovsky; Carmen: Georges Bizet; Messiah: George Frideric Handel;
The Blue Danube: Johann Strauss; The Ring of the Nibelung: Richard Wagner; Aida: Giuseppe Verdi""",
    "invented": """the telephone: Alexander Graham Bell; the light bulb: Thomas Edison; the phonograph: Thomas Edison; the airplane: the Wright brothers;
dynamite: Alfred Nobel; the printing press: Johannes Gutenberg; the World Wide Web: Tim Berners-Lee; the radio: Guglielmo Marconi;
the Braille alphabet: Louis Braille; the lightning rod: Benjamin Franklin; the battery: Alessandro Volta""",
    "discovered": """penicillin: Alexander Fleming; gravity: Isaac Newton; radium: Marie and Pierre Curie; the theory of relativity: Albert Einstein;
the theory of evolution: Charles Darwin; the moons of Jupiter: Galileo Galilei; X-rays: Wilhelm Roentgen; oxygen: Joseph Priestley""",
}

# landmark: city, country
LANDMARKS = """the Eiffel Tower: Paris, France; the Colosseum: Rome, Italy; Big Ben: London, England; the Statue of Liberty: New York, in the United States;
the Taj Mahal: Agra, India; the Great Wall: China; the Pyramids of Giza: Egypt; Machu Picchu: Peru; the Acropolis: Athens, Greece;
the Sydney Opera House: Sydney, Australia; the Brandenburg Gate: Berlin, Germany; the Kremlin: Moscow, Russia; the Leaning Tower: Pisa, Italy;
the Golden Gate Bridge: San Francisco, California; the Louvre: Paris, France; the Sagrada Familia: Barcelona, Spain; Mount Fuji: Japan;
Mount Everest: the Himalayas, on the border of Nepal and China; the Grand Canyon: Arizona, in the United States; Niagara Falls: on the border of Canada and the United States;
Stonehenge: England; the White House: Washington, D.C.; Petra: Jordan; Angkor Wat: Cambodia; Christ the Redeemer: Rio de Janeiro, Brazil"""

# word: definition (completes "<word> is ...")
DEFINITIONS = """apple: a round fruit that grows on trees and is red, green or yellow
astronomy: the science of stars, planets and space
atom: the smallest part of a chemical element
bicycle: a vehicle with two wheels that you ride by pushing the pedals
biology: the science of living things
book: a set of printed pages that are bound together for reading
bridge: a structure that lets people and cars cross a river or a road
calendar: a table that shows the days, weeks and months of a year
castle: a large, strong building where kings and nobles lived
chemistry: the science of what things are made of and how they change
cloud: a mass of tiny drops of water or ice in the sky
compass: a tool that shows which way is north
computer: a machine that stores and works with information
democracy: a form of government in which the people choose their leaders by voting
desert: a dry place with very little rain and few plants
dictionary: a book that explains the meaning of words
doctor: a person who helps sick people get well
earthquake: a sudden shaking of the ground
economy: the way a country makes, sells and uses goods and money
energy: the ability to do work or to make things move
evaporation: the change of a liquid into a gas
evolution: the slow change of living things over many generations
forest: a large area covered with trees
friendship: a close bond between people who like and trust each other
galaxy: a huge group of stars held together by gravity
gravity: the force that pulls objects toward each other and keeps us on the ground
history: the study of things that happened in the past
hospital: a place where sick or injured people are treated
internet: a worldwide network that connects computers
island: a piece of land with water all around it
kindness: the quality of being friendly, generous and caring
library: a place where people can read and borrow books
magnet: a piece of metal that attracts iron
microscope: a tool that makes very small things look bigger
molecule: a group of atoms that are joined together
moon: the round body that goes around the Earth and shines at night
mountain: a very high piece of land
museum: a building where people look at art, history or science
music: sounds that are put together in a pleasing way
ocean: a very large body of salt water
operating system: the software that controls a computer and runs its programs
oxygen: a gas in the air that people and animals need to breathe
photosynthesis: the process by which plants use sunlight to make food from water and carbon dioxide
planet: a large round object that moves around a star
poem: a piece of writing that uses rhythm, images and sometimes rhyme
prime number: a whole number greater than one that can be divided only by one and itself
programming: the work of writing instructions for a computer
rainbow: an arc of colors in the sky that appears when the sun shines through rain
river: a large stream of water that flows to the sea
robot: a machine that can do work by itself
school: a place where children go to learn
star: a huge ball of hot gas that gives light and heat
sun: the star at the center of our solar system
teacher: a person who helps others learn
telescope: a tool that makes far things look nearer
thermometer: a tool that measures temperature
thunder: the loud sound that follows lightning
triangle: a shape with three sides and three corners
umbrella: a tool that keeps you dry in the rain
universe: everything that exists, including all stars, planets and space
vaccine: a medicine that teaches the body to fight a disease
verb: a word that names an action or a state
noun: a word that names a person, a place, a thing or an idea
adjective: a word that describes a noun
volcano: a mountain that can throw out hot melted rock, ash and gas
water: a clear liquid that all living things need
weather: the state of the air at a place, such as sun, rain or wind
wind: moving air
algorithm: a list of steps that solves a problem
variable: a name that stands for a value in a program
function: a named piece of code that takes inputs and returns a result
loop: a part of a program that repeats the same steps
database: a collection of information that is stored so that it can be searched easily
file: a named collection of data on a computer
server: a computer program that answers requests from other programs
language model: a computer program that predicts the next word of a text
artificial intelligence: the science of making machines that can do tasks that need thinking
neural network: a computer model made of many simple connected units, inspired by the brain
cell: the smallest unit of life
heart: the organ that pumps blood through the body
brain: the organ that thinks and controls the body
lungs: the organs that we use to breathe
skeleton: the set of bones that supports the body
vitamin: a substance in food that the body needs in small amounts
sleep: a state of rest for the body and the mind
peace: a time without war or fighting
honesty: the habit of telling the truth
courage: the strength to do something even when you are afraid"""

# English: French, German, Spanish
TRANSLATIONS = """hello: bonjour, hallo, hola; goodbye: au revoir, auf Wiedersehen, adiós; thank you: merci, danke, gracias; please: s'il vous plaît, bitte, por favor;
yes: oui, ja, sí; no: non, nein, no; good morning: bonjour, guten Morgen, buenos días; good night: bonne nuit, gute Nacht, buenas noches;
water: eau, Wasser, agua; bread: pain, Brot, pan; house: maison, Haus, casa; dog: chien, Hund, perro; cat: chat, Katze, gato; book: livre, Buch, libro;
friend: ami, Freund, amigo; love: amour, Liebe, amor; sun: soleil, Sonne, sol; moon: lune, Mond, luna; tree: arbre, Baum, árbol; apple: pomme, Apfel, manzana;
red: rouge, rot, rojo; blue: bleu, blau, azul; green: vert, grün, verde; white: blanc, weiß, blanco; black: noir, schwarz, negro;
one: un, eins, uno; two: deux, zwei, dos; three: trois, drei, tres; four: quatre, vier, cuatro; five: cinq, fünf, cinco;
mother: mère, Mutter, madre; father: père, Vater, padre; school: école, Schule, escuela; milk: lait, Milch, leche; day: jour, Tag, día; night: nuit, Nacht, noche"""

COLORS = """the sun: yellow; the sky: blue; grass: green; snow: white; blood: red; a lemon: yellow; an orange: orange; coal: black; milk: white; chocolate: brown;
a carrot: orange; a strawberry: red; a cucumber: green; a frog: green; an elephant: gray; a polar bear: white; the sea: blue; a fire engine: red;
a banana: yellow; a tomato: red; a leaf: green; a raven: black; a swan: white; sand: yellow; a violet: purple; a flamingo: pink"""

# person or tool: what it does
ROLES = """teacher: helps children learn; doctor: helps sick people; nurse: takes care of sick people; farmer: grows food and keeps animals; cook: prepares meals;
baker: bakes bread and cakes; pilot: flies planes; driver: drives a car, a bus or a truck; carpenter: makes things out of wood; painter: paints pictures or walls;
lawyer: gives advice about the law; engineer: designs machines and buildings; police officer: keeps people safe; firefighter: puts out fires; writer: writes books and stories;
programmer: writes computer programs; scientist: studies how the world works; judge: decides cases in court; tailor: makes clothes; librarian: takes care of books in a library;
musician: plays music; actor: plays roles in films and plays; dentist: takes care of teeth; gardener: takes care of plants; postman: brings letters"""

USES = """hammer: drive nails into wood; saw: cut wood; screwdriver: turn screws; knife: cut things; spoon: eat soup; pen: write; ruler: measure length; clock: tell the time;
thermometer: measure temperature; telescope: look at the stars; microscope: look at very small things; umbrella: stay dry in the rain; key: open a lock; broom: sweep the floor;
camera: take pictures; phone: talk to people who are far away; refrigerator: keep food cold; oven: bake and cook food; lamp: give light; compass: find the way;
scissors: cut paper and cloth; needle: sew clothes; shovel: dig holes; ladder: climb up to high places; computer: write, calculate and find information"""

RHYMES = """cat: hat, bat, mat; dog: fog, log, frog; sun: fun, run, bun; tree: free, bee, sea; night: light, bright, sight; day: way, play, say; house: mouse, blouse;
rain: train, pain, plane; blue: true, shoe, new; star: car, far, jar; book: look, cook, hook; ring: sing, king, wing; moon: soon, spoon, noon; cake: lake, make, snake; ball: tall, wall, fall"""
