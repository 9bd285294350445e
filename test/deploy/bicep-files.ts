import { pathsOf, readText } from '../docs/markdown.ts';

/** A declaration at the top of a Bicep file. */
interface Declaration {
  /** param, var, resource, module or output */
  readonly kind: string;
  readonly name: string;
  readonly isSecure: boolean;
  /** Everything after the name. */
  readonly text: string;
}

export const AZURE = 'infra/azure/';

const DECLARATION =
  /((?:^@.*\n)*)^(param|var|resource|module|output) (\w+)((?:.*\n)(?:(?!@|(?:param|var|resource|module|output) ).*\n)*)/gm;

/** A Bicep file below {@link AZURE} as text, without comments. `az bicep build` in CI knows the syntax and the types. */
export const readBicep = (path: string): string => readText(`${AZURE}${path}`).replaceAll(/^ *\/\/.*\n/gm, '');

export const declarationsOf = (path: string): readonly Declaration[] =>
  [...readBicep(path).matchAll(DECLARATION)].map(([, decorators = '', kind = '', name = '', text = '']) => ({
    kind,
    name,
    isSecure: decorators.includes('@secure()'),
    text: text.trim(),
  }));

/** Everything after the name of a declaration such as `var token`; empty if the file does not have it. */
export const declared = (path: string, declaration: string): string =>
  declarationsOf(path).find(({ kind, name }) => `${kind} ${name}` === declaration)?.text ?? '';

/** The default of a parameter, without its quotes; undefined for a required parameter. */
export const defaultOf = (parameter: Declaration): string | undefined => / = '?(.*?)'?$/m.exec(parameter.text)?.[1];

/** The lines `name: value` of a resource's `properties`, or of a module's `params`. */
export const propertiesIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/^ {4}(\w+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]));

/** The paths of all Bicep files, below {@link AZURE}. */
export const BICEP_PATHS: readonly string[] = pathsOf('infra/azure/**/*.bicep').map((path) => path.slice(AZURE.length));
