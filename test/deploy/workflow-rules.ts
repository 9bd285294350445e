import { z } from 'zod';
import { parseDocument, type Document, isMap, isPair, visit } from 'yaml';

/** The repository as far as workflows can be wrong about it. */
export interface Repository {
  /** The scripts of package.json. */
  readonly scripts: ReadonlySet<string>;
  /** Whether there is such a file; the path is relative to the root. */
  readonly hasFile: (path: string) => boolean;
}

const permissions = z.record(z.string(), z.enum(['read', 'write', 'none']));
const step = z.looseObject({ run: z.string().optional(), uses: z.string().optional() });
const workflowSchema = z.looseObject({
  permissions: z.unknown().optional(),
  concurrency: z.unknown().optional(),
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.number().optional(),
      permissions: permissions.optional(),
      environment: z.unknown().optional(),
      concurrency: z.unknown().optional(),
      steps: z.array(step),
    }),
  ),
});
type Job = z.infer<typeof workflowSchema>['jobs'][string];

/** What this project asks of a workflow beyond what GitHub does; empty where all is well. */
export const objectionsTo = (text: string, repository: Repository): readonly string[] => {
  const document = parseDocument(text);
  const workflow = workflowSchema.parse(document.toJS());
  return [
    ...(JSON.stringify(workflow.permissions) === '{}' ? [] : ['permissions of the workflow are not {}']),
    ...unpinned(document),
    ...Object.entries(workflow.jobs).flatMap(([name, job]) =>
      [
        ...jobObjections(job, repository),
        ...(workflow.concurrency === undefined ? concurrencyObjections(job) : []),
      ].map((objection) => `job ${name}: ${objection}`),
    ),
    // Whom alerts reach is nobody else's business, and who knows a webhook's address can post there.
    ...(/secrets\.(?!ALERT_(?:EMAIL|SMS|VOICE|WEBHOOK)\b)/.test(text)
      ? ['a secret is used: sign-in is by OIDC, names are variables']
      : []),
    ...(/toJSON\((?:vars|secrets|env)\)/i.test(text) ? ['all variables at once: what is in env is printed'] : []),
  ];
};

const jobObjections = (job: Job, repository: Repository): readonly string[] => [
  ...(job['timeout-minutes'] === undefined ? ['has no timeout'] : []),
  ...(job.permissions === undefined ? ['has no permissions of its own'] : []),
  // To sign provenance takes a token as well; Azure trusts no token without an environment.
  ...(job.permissions?.['id-token'] === 'write' &&
  job.permissions['attestations'] !== 'write' &&
  job.environment === undefined
    ? ['may sign in to Azure without an environment']
    : []),
  ...job.steps.flatMap(({ run }) => (run === undefined ? [] : commandObjections(run, repository))),
];

/** A job that deploys waits for the one before, on its own environment, and is never cancelled for one after. */
const concurrencyObjections = ({ environment, concurrency }: Job): readonly string[] => {
  const { name } = namedSchema.safeParse(environment).data ?? {};
  if (name === undefined) return [];
  const asked = JSON.stringify({ group: `deploy-${name}`, queue: 'max', 'cancel-in-progress': false });
  return JSON.stringify(concurrency) === asked ? [] : [`its concurrency is not ${asked}`];
};

const namedSchema = z.object({ name: z.string() });

const commandObjections = (run: string, { scripts, hasFile }: Repository): readonly string[] => [
  // An expression is put into the script as text before the shell sees it: a tag or a title could carry commands.
  ...(run.includes('${{') ? [`an expression in a command: ${run}`] : []),
  ...[...run.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].flatMap(([, name = '']) =>
    name === 'ci' || scripts.has(name) ? [] : [`there is no npm script ${name}`],
  ),
  ...[...run.matchAll(/(?<![\w./>-])(?:\.ci|\.github|infra|src|test)\/[\w./*-]+/g)].flatMap(([path]) =>
    hasFile(path) ? [] : [`there is no ${path}`],
  ),
];

/** Actions that are not pinned by commit, with the version as a comment. */
const unpinned = (document: Document): readonly string[] => {
  const found: string[] = [];
  visit(document, {
    Map: (_, map) => {
      for (const pair of map.items) {
        if (!isPair(pair) || String(pair.key) !== 'uses' || isMap(pair.value)) continue;
        const uses = String(pair.value);
        const comment = typeof pair.value === 'object' && pair.value !== null ? commentOf(pair.value) : '';
        if (!/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(uses)) found.push(`${uses} is not pinned by commit`);
        else if (!/^ v\d+\.\d+\.\d+$/.test(comment)) found.push(`${uses} does not say its version`);
      }
    },
  });
  return found;
};

const commentOf = (node: object): string => ('comment' in node && typeof node.comment === 'string' ? node.comment : '');
