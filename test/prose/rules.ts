/** A habit of wording that `npm run check` rejects. */
export interface Habit {
  readonly pattern: RegExp;
  /** What to write in its place. */
  readonly instead: string;
}

/**
 * The longest sentence, in words. `CONTRIBUTING.md` asks for 25. One sentence in thirty of Microsoft Learn is longer than that and still reads well,
 * so the check allows for lists and names.
 */
const MAX_WORDS = 35;

/** Verbs whose subject is a bare "what". */
const VERB = String.raw`(?:\w+ed|is|was|are|were|has|have|had|can|cannot|may|must|will|would|does|did|came|comes|goes|went|stands|waits|remains|rings|follows|belongs|begins|ends|holds|differs|makes|needs|fits|runs|lies|reads|writes|knows|became|becomes|others|nobody|nothing)`;

/** After a verb of saying, "what is" is an indirect question. */
const NOT_SAYING = String.raw`(?<!\b(?:says?|said|tells?|told|shows?|sees?|names?|decides?|explains?|describes?|asks?|asked|knows?|learns?|understands?|defines?|about) )`;

/** The habits, each with its correction. The patterns see a sentence with every `code` replaced by one word. */
const HABITS: readonly Habit[] = [
  { pattern: /\b(?:whoever|whomever|whatever)\b/i, instead: 'name the actor or the thing' },
  { pattern: /^who\b(?!.*\?)/i, instead: 'name the actor as the subject' },
  {
    pattern:
      /(?:[;:(–] ?|\b(?:and|or|but|nor|for|of|by|with|than|to|as|also|if|when|while|only|not|after|before|from|until|unless|that) )who\b(?!.*\?)/i,
    instead: 'name the person before "who"',
  },
  {
    pattern: new RegExp(
      `(?:^|[;:(–] ?|\\b(?:and|but|nor|of|by|from|with|for|than|only|also|if|all) )what ${VERB}\\b(?!.*\\?)`,
      'i',
    ),
    instead: 'name the thing as the subject',
  },
  {
    pattern: new RegExp(`${NOT_SAYING}\\bwhat (?:is|was|are|were|has been|had been)\\b(?!.*\\?)`, 'i'),
    instead: 'name the thing in place of "what is"',
  },
  {
    pattern: /\bones? (?:that|which|who|whose|of which|for which|to which|for whom|of whom)\b/i,
    instead: 'repeat the noun',
  },
  {
    pattern:
      /\b(?:the (?:next|other|earlier|later|older|newer|former|last|first)|another|an? (?:earlier|later|older|former|urgent|damaged)) ones?\b(?! of\b)/i,
    instead: 'repeat the noun',
  },
  { pattern: /\b(?:that|those) of\b/i, instead: 'repeat the noun' },
  { pattern: /\bthose (?:who|that|which|whose|for|in|with|from|on|before|after)\b/i, instead: 'repeat the noun' },
  {
    pattern: /\b(?:some|no|any|every)body\b/i,
    instead: 'name the actor: the callee, the sender, the operator, the reader',
  },
  {
    pattern:
      /(?<!\b(?:some|most|all|each|both|many|any|one|none|two|either|neither|part|number) )\bof (?:which|whom)\b/i,
    instead: 'make two sentences',
  },
  { pattern: /\btaken (?:for|as|in hand)\b/i, instead: 'say "treated as"' },
  { pattern: /\bfor want of\b/i, instead: 'say "without"' },
  { pattern: /\ball the same\b/i, instead: 'leave it out, or say "anyway"' },
  { pattern: /\bthe same again\b|\bsame (?:is )?said\b/i, instead: 'say what is repeated' },
  { pattern: /\b(?:go|goes|went|going) on\b/i, instead: 'say "continue"' },
  { pattern: /\b(?:in|at|to) hand\b/i, instead: 'say who handles it' },
  { pattern: /\bbesides?\b/i, instead: 'say "next to", "with" or "and"' },
  {
    pattern: /\b(?:and|,|^) ?so (?:do|does|did|is|are|was|has|have|can|must)\b/i,
    instead: 'repeat the verb, or say "also"',
  },
  { pattern: /\bas (?:do|does|did)\b/i, instead: 'repeat the verb' },
  { pattern: /\bnor (?:do|does|did|is|are|was|has|have|can|may|must|who|what)\b/i, instead: 'make two sentences' },
  {
    pattern: /\b(?:is|are|was|were|be|has|have) (?:none|one)\b(?! of\b| or\b| more\b| \w)/i,
    instead: 'repeat the noun',
  },
  {
    pattern:
      /\b(?:it|that|this|nothing|all) (?:is|was) (?:asked|told|said|looked|done|spoken|heard|taken|tried|sure|known of)\b/i,
    instead: 'name the actor and use an active verb',
  },
  {
    pattern:
      /\b(?:is|are|was|were|be|been|being) (?:looked (?:at|for)|spoken to|asked for|heard of|done with|told of|thought of|waited for)\b/i,
    instead: 'name the actor and use an active verb',
  },
  { pattern: /\bmend(?:s|ed|ing)?\b/i, instead: 'say "fix"' },
  { pattern: /\balso (?:if|when|where|after|while|of|what|those|without)\b/i, instead: 'say "even if"' },
  { pattern: /[,;:(] ?else\b|^else\b|\bor else\b/i, instead: 'say "otherwise"' },
  { pattern: /\bmeanwhile\b(?!,)/i, instead: 'say "in the meantime", or name the step' },
  { pattern: /\bso (?:long|often|many|much)\b(?! as\b)/i, instead: 'name the number' },
  { pattern: /\b(?:all|nothing|none|no \w+|anything) but\b/i, instead: 'say "except" or "only"' },
  { pattern: /\bany more\b(?! \w)/i, instead: 'say "no longer"' },
  { pattern: /\bof (?:its|their|our|his|your) own\b(?! \w)/i, instead: 'say "its own" before the noun' },
  { pattern: /\b(?:this|that) one\b|\bone (?:sent|kept|made|placed|stored)\b/i, instead: 'repeat the noun' },
  {
    pattern: /\b(?:uses|costs|gets|makes|takes|gives|leaves|says) (?:one|none)\b(?! \w)/i,
    instead: 'repeat the noun',
  },
  {
    pattern: /\b(?:into|of|for|by|from|at|on|to) (?:no|nothing|none)\b(?! (?:later|more|longer|less)\b)/i,
    instead: 'put the negation into the verb',
  },
  {
    pattern: /\b(?:neither|nothing) is (?:forgotten|decided|dialed|called|left|said|known)\b/i,
    instead: 'name the actor',
  },
  {
    pattern: /\bwhat (?:you|it|they|we) (?:know|knows|have|has|had) (?:already|before|then)\b/i,
    instead: 'name the thing',
  },
  { pattern: /\bhand(?:s|ed)? \S+ on\b|\btrying out\b/i, instead: 'use the technical term' },
  { pattern: /\b(?:all|much|little) that\b/i, instead: 'name the things' },
  {
    pattern: /\bas it were\b|\bso it is\b|\bas it stands?\b|\bbe it\b|\bas they (?:are|stand)\b/i,
    instead: 'leave it out',
  },
  { pattern: /\bfor ever\b/i, instead: 'say "forever"' },
  {
    pattern:
      /(?<!\boperators? )\b(?:is|are|was|were|be|been|being) told\b(?! (?:apart|to|that)\b)|[:,] told\b|\btold (?:once|hourly|as)\b|\bas told\b/i,
    instead: 'say "logged", "reported" or "distinguished"',
  },
  { pattern: /\basks? so\b|\basked (?:so|about)\b/i, instead: 'use the technical term' },
  { pattern: /\bone other\b(?! than\b)/i, instead: 'say "another" and the noun' },
  {
    pattern: /\b(?:two|three|four|several|many|few|some|others|all) who(?:se)?\b/i,
    instead: 'name the persons or the processes',
  },
  { pattern: /\band with (?:it|them)\b/i, instead: 'make two sentences' },
  { pattern: /(?<![,;:–—-] ?)\bbut for\b|\bno \w+ but\b/i, instead: 'say "except"' },
  { pattern: /\bonly then (?:is|are|was|do|does|did|has|have|can|may|must|will)\b/i, instead: 'put the subject first' },
  { pattern: /\bas too (?:much|many|late|large|early|small)\b/i, instead: 'name the limit' },
  {
    pattern: /\b(?:says?|has|have|finds?|breaks?|names?|reads?) (?:several|some|many|few)(?=[,.;:]|$)/i,
    instead: 'repeat the noun',
  },
  { pattern: /\b(?:an?|the|each|every) \w+ed ones?\b/i, instead: 'repeat the noun' },
  { pattern: /\b(?:stands?|stood) (?:still|beside|as)\b/i, instead: 'say "stops" or "is stored as"' },
  {
    pattern: /\b(?:skipped|sent|kept|counted|replaced|deleted|written) whole\b|\b(?:are|is|be) whole\b/i,
    instead: 'say "complete"',
  },
  {
    pattern:
      /\bonce an? (?:process|call|person|row|camera)\b|\b(?:rows?|property|entry|requests?|one) an? (?:notification|recipient|person|line|stripe|shard|category)\b/i,
    instead: 'say "per"',
  },
  { pattern: /\b(?:a|one|its own|own) look(?! at\b)\b/i, instead: 'say "a check" or "a read"' },
  { pattern: /\bcomes? back\b(?! to\b)/i, instead: 'say "is restored" or "is returned"' },
  { pattern: /\b(?:says?|said|is|are|was) so(?=[.,;:]|$)/i, instead: 'say what' },
  {
    pattern: /\bnothing (?:is|was) \w+ of\b|\bfrom then on\b|\bonce more\b/i,
    instead: 'use an active verb, "after that", "again"',
  },
  { pattern: /\bthe own\b/i, instead: 'say "its own"' },
  {
    pattern:
      /\b(?:dial|cancel|label|signal|model|travel)l(?:ed|ing)\b|\b(?:colour|behaviour|licence|centre|organisation|grey|favour|neighbour|judgement)(?:s|ed|ing)?\b|\b(?:recogni|normali|seriali|initiali|organi|minimi|summari)s(?:e|es|ed|ing)\b/i,
    instead: 'use American spelling',
  },
];

/** What is wrong with a sentence, in words for its author; empty if nothing is. */
export const faultsOf = (sentence: string, words: number): readonly string[] => [
  ...(words > MAX_WORDS ? [`${words} words: at most ${MAX_WORDS}`] : []),
  ...HABITS.flatMap(({ pattern, instead }) => {
    const found = pattern.exec(sentence)?.[0].trim();
    return found === undefined ? [] : [`"${found}": ${instead}`];
  }),
];
