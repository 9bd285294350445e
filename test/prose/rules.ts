/**
 * The longest sentence, in words. `CONTRIBUTING.md` asks for 25. One sentence in thirty of Microsoft Learn is longer than that and still reads well,
 * so the check allows for lists and names.
 */
const MAX_WORDS = 35;

/** Before a "what" or a "who" that has no noun. */
const START = String.raw`^|[;:(–] ?`;

const BE = 'is|are|was|were|be|been|being';

/** Verbs whose subject is a bare "what". */
const VERB = String.raw`\w+ed|is|was|are|were|has|have|had|can|cannot|may|must|will|would|does|did|came|comes|goes|went|stands|waits|remains|rings|follows|belongs|begins|ends|holds|differs|makes|needs|fits|runs|lies|reads|writes|knows|became|becomes|others|nobody|nothing`;

/** After these words, a "what" begins an indirect question. */
const SAYING =
  'says?|said|tells?|told|shows?|sees?|names?|decides?|explains?|describes?|asks?|asked|knows?|learns?|understands?|defines?|about';

/**
 * The habits of wording that `npm run check` rejects, each with its correction. A pattern stands for whole words, in upper or lower case. It sees a
 * sentence in which every `code` is one word.
 */
const HABITS = String.raw`
whoever|whomever|whatever → name the actor or the thing
(?<=${START}|\b(and|or|but|nor|for|of|by|with|than|to|as|also|if) )who(?!.*\?) → name the person before "who"
(?<=\b(when|while|only|not|after|before|from|until|unless|that) )who(?!.*\?) → name the person before "who"
(two|three|four|several|many|few|some|others|all) who(se)? → name the persons or the processes
(?<=${START}|\b(and|but|nor|of|by|from|with|for|than|only|also|if|all) )what (${VERB})(?!.*\?) → name the thing as the subject
(?<!\b(${SAYING}) )what (is|was|are|were|(has|had) been)(?!.*\?) → name the thing in place of "what is"
what (you|it|they|we) (know|knows|have|has|had) (already|before|then) → name the thing
ones? (that|which|who|whose|(of|for|to) which|(for|of) whom) → repeat the noun
(the (next|other|earlier|later|older|newer|former|last|first)|another) ones?(?! of\b) → repeat the noun
an? (earlier|later|older|former|urgent|damaged) ones?(?! of\b) → repeat the noun
(an?|the|each|every) \w+ed ones? → repeat the noun
(this|that) one|one (sent|kept|made|placed|stored) → repeat the noun
(is|are|was|were|be|has|have) (none|one)(?! of\b| or\b| more\b| \w) → repeat the noun
(uses|costs|gets|makes|takes|gives|leaves|says) (one|none)(?! \w) → repeat the noun
(says?|has|have|finds?|breaks?|names?|reads?) (several|some|many|few)(?=[,.;:]|$) → repeat the noun
(that|those) of → repeat the noun
those (who|that|which|whose|for|in|with|from|on|before|after) → repeat the noun
one other(?! than\b) → say "another" and the noun
(some|no|any|every)body → name the actor: the callee, the sender, the operator, the reader
(neither|nothing) is (forgotten|decided|dialed|called|left|said|known) → name the actor
(it|that|this|nothing|all) (is|was) (asked|told|said|looked|done|spoken|heard|taken|tried|sure|known of) → use an active verb
(${BE}) (looked (at|for)|spoken to|asked for|heard of|done with|told of|thought of|waited for) → use an active verb
nothing (is|was) \w+ of|from then on|once more → use an active verb, "after that", "again"
(?<!\boperators? )(${BE}) told(?! (apart|to|that)\b) → say "logged", "reported" or "distinguished"
(?<=[:,] |\bas )told|told (once|hourly|as) → say "logged", "reported" or "distinguished"
(?<!\b(some|most|all|each|both|many|any|one|none|two|either|neither|part|number) )of (which|whom) → make two sentences
nor (do|does|did|is|are|was|has|have|can|may|must|who|what) → make two sentences
and with (it|them) → make two sentences
only then (is|are|was|do|does|did|has|have|can|may|must|will) → put the subject first
(?<=^|\band ?|, ?)so (do|does|did|is|are|was|has|have|can|must) → repeat the verb, or say "also"
as (do|does|did) → repeat the verb
(into|of|for|by|from|at|on|to) (no|nothing|none)(?! (later|more|longer|less)\b) → put the negation into the verb
(all|nothing|none|no \w+|anything) but → say "except" or "only"
(?<![,;:–—-] ?)but for → say "except"
also (if|when|where|after|while|of|what|those|without) → say "even if"
(?<=^|[,;:(] ?|\bor )else → say "otherwise"
so (long|often|many|much)(?! as\b) → name the number
as too (much|many|late|large|early|small) → name the limit
(all|much|little) that → name the things
(says?|said|is|are|was) so(?=[.,;:]|$) → say what
the same again|same (is )?said → say what is repeated
as it were|so it is|as it stands?|be it|as they (are|stand) → leave it out
all the same → leave it out, or say "anyway"
hand(s|ed)? \S+ on|trying out|asks? so|asked (so|about) → use the technical term
(in|at|to) hand → say who handles it
taken (for|as|in hand) → say "treated as"
for want of → say "without"
(go|goes|went|going) on → say "continue"
besides? → say "next to", "with" or "and"
mend(s|ed|ing)? → say "fix"
(?<!page )look(s|ed|ing)? at → say "read", "check" or "compare"
stor(y|ies) → say "scenario", "steps" or "log"
(?<=^)most [\w-]+( units)? (\(.*\) )?(of|in|that)(?!.* (are|is|have|has|were)\b) → say "the maximum"
the most (it|an?|listed|faults|lines|recipients|instances|requests|events) → say "the maximum"
as (\w+ )?(\w+ of )?\w+ (has|have) (it|them) → say "in the form of"
in good order → say "gracefully"
takes? (\w+ )?for → say "treats as" or "assumes"
takes? (no|https|as many|as much) → say "accepts" or "uses"
(begins?|ends?|starts?|does|do) so → name the text
passed over → say "ignored"
(read|gets? (it|them)) whole → say "complete"
hands → say "passes"
gives? back → say "returns"
(?<=^)what(?! .*\?) → name the thing
thanked → say "goodbye"
(a|an|the|its|their|each|every) (marks?|holds?)(?= (of|on|is|has|are|in)\b|[.,;:]|$) → use the term of the field
(shows?|has|have|hold|holds|log|logs|with|see|sees) (the |a )?whole (phone )?numbers? → say "unmasked number"
says? too (little|much) → name the missing thing
(generation|row|answer|version) that counts → name it
meanwhile(?!,) → say "in the meantime", or name the step
any more(?! \w) → say "no longer"
of (its|their|our|his|your) own(?! \w) → say "its own" before the noun
the own → say "its own"
for ever → say "forever"
(stands?|stood) (still|beside|as) → say "stops" or "is stored as"
(skipped|sent|kept|counted|replaced|deleted|written|are|is|be) whole → say "complete"
once an? (process|call|person|row|camera) → say "per"
(rows?|property|entry|requests?|one) an? (notification|recipient|person|line|stripe|shard|category) → say "per"
(a|one|its own|own) look(?! at\b) → say "a check" or "a read"
comes? back(?! to\b) → say "is restored" or "is returned"
(?<!\b(there|it) )(is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|other\b|better\b|worse\b|\w+er than\b)[a-z][\w-]*(?! (at|in|on|for) \w+ing\b) → say "is not a"
(no|any|each|every) other one → repeat the noun
(?<!or )(with|to|after|before|of) one(?=[.;:]|$) → repeat the noun
(undefined|throws|even|also|empty) where → say "if"
so (late|early|shortly|large|small|high|low|near)(?! (that|as)\b) → name the limit
as [\w ]{1,40} (tells|sees|writes|knows) (it|them) → say "in the form of"
takes? ([\w-]+ ){1,3}for (an?|something) → say "treats as" or "reads as"
(?<=^)of [^,:]+$ → name the thing
(does|do|did) last(?=[.,;:]|$) → repeat the verb
(dial|cancel|label|signal|model|travel)l(ed|ing) → use American spelling
(colour|behaviour|licence|centre|organisation|grey|favour|neighbour|judgement)(s|ed|ing)? → use American spelling
fulfil(s|ment)? → use American spelling
(recogni|normali|seriali|initiali|organi|minimi|summari)s(e|es|ed|ing) → use American spelling
`
  .trim()
  .split('\n')
  .map((line) => {
    const [pattern = '', instead = ''] = line.split(' → ');
    return { pattern: new RegExp(String.raw`(?<!\w)(?:${pattern})(?!\w)`, 'i'), instead };
  });

/** The faults of a sentence, with the correction of each. */
export const faultsOf = (sentence: string): readonly string[] => {
  const words = sentence.split(' ').filter((token) => /\w/.test(token)).length;
  return [
    ...(words > MAX_WORDS ? [`${words} words: at most ${MAX_WORDS}`] : []),
    ...HABITS.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(sentence)?.[0];
      return found === undefined ? [] : [`"${found}": ${instead}`];
    }),
  ];
};
