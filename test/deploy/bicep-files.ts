import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Language, type Node, Parser } from 'web-tree-sitter';

// Only the grammar's wasm file is used, never its native binding. The package is an optional dependency because older npm
// versions run its install script, which needs a compiler where no prebuilt binding fits, as on Linux on ARM.
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(fileURLToPath(import.meta.resolve('tree-sitter-bicep/tree-sitter-bicep.wasm'))));

/** A parameter of a file. */
export interface Parameter {
  readonly type: string;
  /** Undefined where the parameter has no default. */
  readonly defaultValue: Node | undefined;
  /** The functions that decorate it, such as `secure`. */
  readonly decorators: readonly string[];
}

/** What a Bicep file declares and uses. No package has the Bicep compiler, so this knows the syntax but no types. */
export interface BicepFile {
  readonly text: string;
  readonly root: Node;
  readonly params: ReadonlyMap<string, Parameter>;
  /** Variables by name, with their value. */
  readonly variables: ReadonlyMap<string, Node>;
  /** Resources by symbol. The body is the object, without the loop or the condition around it. */
  readonly resources: ReadonlyMap<string, { readonly type: string; readonly body: Node }>;
  /** Modules by symbol, with the names of the parameters that they are given. */
  readonly modules: ReadonlyMap<string, { readonly path: string; readonly params: readonly string[] }>;
  /** Outputs by name, with their value. */
  readonly outputs: ReadonlyMap<string, Node>;
  /** Every name that the file declares, as often as it does. */
  readonly declarations: readonly string[];
  /** Every use of a name that no loop and no lambda around it binds, with the properties that are read from it: storage, outputs, name. */
  readonly references: readonly (readonly string[])[];
}

const DECLARATION = /^(parameter|variable|resource|module|output)_declaration$/;

/**
 * Reads Bicep text.
 *
 * @throws {SyntaxError} with the line where the text is not Bicep
 */
export const readBicep = (text: string): BicepFile => {
  const tree = parser.parse(text);
  if (tree === null) throw new Error('The Bicep grammar is not loaded.');
  const root = tree.rootNode;
  const damage = descendants(root).find((node) => node.isError || node.isMissing);
  if (damage !== undefined) throw new SyntaxError(`line ${damage.startPosition.row + 1} is not Bicep`);

  const declarations = root.namedChildren.filter((node) => DECLARATION.test(node.type));
  const declared = <Value>(kind: string, read: (value: Node, node: Node) => Value): ReadonlyMap<string, Value> =>
    new Map(
      declarations
        .filter(({ type }) => type === `${kind}_declaration`)
        .map((node) => [nameOf(node), read(lastChild(node), node)]),
    );
  return {
    text,
    root,
    params: declared('parameter', (value, node) => ({
      type: node.namedChildren.find(({ type }) => type === 'type')?.text ?? '',
      defaultValue: value.type === 'type' ? undefined : value,
      decorators: decoratorsOf(node),
    })),
    variables: declared('variable', (value) => value),
    resources: declared('resource', (value, node) => ({ type: typeOf(node), body: bodyOf(value) })),
    modules: declared('module', (value, node) => ({
      path: typeOf(node),
      params: keysOf(valueAt(bodyOf(value), 'params')),
    })),
    outputs: declared('output', (value) => value),
    declarations: declarations.filter(({ type }) => type !== 'output_declaration').map(nameOf),
    references: referencesIn(root),
  };
};

/** The type of a resource with its version, or the path of a module. */
const typeOf = (node: Node): string => textOf(node.namedChildren.find(({ type }) => type === 'string'));

const nameOf = (declaration: Node): string => declaration.namedChildren[0]?.text ?? '';

const lastChild = (node: Node): Node => node.namedChildren.at(-1) ?? node;

const decoratorsOf = ({ previousNamedSibling }: Node): readonly string[] =>
  previousNamedSibling?.type === 'decorators' ? (previousNamedSibling.text.match(/(?<=@)\w+/g) ?? []) : [];

const bodyOf = (value: Node): Node => {
  if (value.type === 'for_statement') return value.childForFieldName('body') ?? value;
  return value.type === 'if_statement' ? lastChild(value) : value;
};

/** A node and everything below it, in the order of the text. */
export const descendants = (node: Node): readonly Node[] => [node, ...node.children.flatMap(descendants)];

/** The text of a string without its quotes. */
export const textOf = (string: Node | undefined): string => string?.text.replaceAll(/^'+|'+$/g, '') ?? '';

/** The properties of an object, in order. */
export const propertiesOf = (object: Node | undefined): readonly { readonly key: string; readonly value: Node }[] =>
  (object?.namedChildren ?? [])
    .filter(({ type }) => type === 'object_property')
    .map((property) => ({ key: textOf(property.namedChildren[0]), value: lastChild(property) }));

/** The keys of an object, in order. */
export const keysOf = (object: Node | undefined): readonly string[] => propertiesOf(object).map(({ key }) => key);

/** The value at the end of a path of keys; undefined where an object on the way does not have the key. */
export const valueAt = (object: Node | undefined, ...path: readonly string[]): Node | undefined =>
  path.reduce((node: Node | undefined, key) => propertiesOf(node).find((each) => each.key === key)?.value, object);

const referencesIn = (root: Node): readonly (readonly string[])[] => {
  const references: (readonly string[])[] = [];
  const visit = (node: Node, bound: ReadonlySet<string>): void => {
    if (node.type === 'decorators') return;
    const [first, ...rest] = node.namedChildren;
    const path = pathOf(node);
    if (path !== undefined) {
      if (!bound.has(path[0] ?? '')) references.push(path);
    } else if (node.type === 'for_statement' || node.type === 'lambda_expression') {
      // One name, or two in parentheses: the element and its index.
      for (const child of rest) visit(child, new Set([...bound, ...(first?.text.match(/\w+/g) ?? [])]));
    } else {
      // The name of a function, a declaration or a property is no use of that name.
      const isName = first?.type === 'identifier' && (NAMING.test(node.type) || DECLARATION.test(node.type));
      for (const child of isName ? rest : node.namedChildren) visit(child, bound);
    }
  };
  visit(root, new Set());
  return references;
};

const NAMING = /^(call_expression|object_property)$/;

/** `a.b.c` as a path; undefined where it does not begin with a name, as in `f().b`. */
const pathOf = (node: Node): readonly string[] | undefined => {
  if (node.type === 'identifier') return [node.text];
  const object = node.childForFieldName('object');
  const property = node.childForFieldName('property');
  if (node.type !== 'member_expression' || object === null || property === null) return undefined;
  const path = pathOf(object);
  return path && [...path, property.text];
};

/** The folder of the Bicep files, with a slash at its end. */
export const BICEP_FOLDER = new URL('../../infra/azure/', import.meta.url);

const parsed = new Map<string, BicepFile>();

/** The Bicep file with this path below {@link BICEP_FOLDER}. */
export const bicepFile = (path: string): BicepFile => {
  const file = parsed.get(path) ?? readBicep(readFileSync(new URL(path, BICEP_FOLDER), 'utf8'));
  parsed.set(path, file);
  return file;
};

/** All Bicep files of the project by their path below {@link BICEP_FOLDER}. */
export const bicepFiles = (): ReadonlyMap<string, BicepFile> =>
  new Map(
    readdirSync(fileURLToPath(BICEP_FOLDER), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.bicep'))
      .map((path) => path.replaceAll('\\', '/'))
      .map((path) => [path, bicepFile(path)]),
  );
