/** A row of a table, or of what a query makes of it. */
export type Row = Readonly<Record<string, unknown>>;

/** Tables by name. */
export type Tables = Readonly<Record<string, readonly Row[]>>;

/**
 * The rows that a query gives, as far as the alerts use the language: `where`, `extend`, `project`, `union` and a few functions. That a
 * query is one at all is for Microsoft's language service to say (kql.ts); this tells what it means for log lines.
 *
 * @throws {Error} for what is not known here
 */
export const rowsOf = (query: string, tables: Tables): readonly Row[] => {
  const parser = new Parser(tokensOf(query), tables);
  const rows = parser.pipeline();
  parser.end();
  return rows;
};

type Expression = (row: Row) => unknown;

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\d+|[A-Za-z_]\w*|!in\b|==|!=|<=|>=|=~|[|(),.<>=])/y;

const tokensOf = (query: string): readonly string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  const text = query.trim();
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Error(`unknown from here on: ${text.slice(from)}`);
    tokens.push(token);
  }
  return tokens;
};

const asText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
};

const asNumber = (value: unknown): number | undefined => {
  const number = Number(asText(value) === '' ? Number.NaN : asText(value));
  return Number.isNaN(number) ? undefined : Math.trunc(number);
};

const isEmpty = (value: unknown): boolean => asText(value) === '';

const parsed = (value: unknown): unknown => {
  try {
    return JSON.parse(asText(value));
  } catch {
    // A line that is not JSON is a string without properties to a query.
    return value;
  }
};

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined;

const FUNCTIONS: Readonly<Record<string, (...values: readonly unknown[]) => unknown>> = {
  tostring: asText,
  toint: asNumber,
  tolong: asNumber,
  parse_json: parsed,
  coalesce: (...values) => values.find((value) => !isEmpty(value)) ?? '',
  strcat: (...values) => values.map(asText).join(''),
  not: (value) => value !== true,
};

/** What is not there is in no relation to anything. */
const compared = (left: unknown, right: unknown, holds: (order: number) => boolean): boolean => {
  if (left === undefined || right === undefined) return false;
  if (typeof left === 'number' && typeof right === 'number') return holds(left - right);
  if (typeof left === 'boolean') return holds(left === right ? 0 : 1);
  return holds(asText(left) === asText(right) ? 0 : 1);
};

const RELATIONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => compared(left, right, (order) => order === 0),
  '!=': (left, right) => compared(left, right, (order) => order !== 0),
  '<': (left, right) => compared(left, right, (order) => order < 0),
  '<=': (left, right) => compared(left, right, (order) => order <= 0),
  '>': (left, right) => compared(left, right, (order) => order > 0),
  '>=': (left, right) => compared(left, right, (order) => order >= 0),
  '=~': (left, right) => asText(left).toLowerCase() === asText(right).toLowerCase(),
  startswith: (left, right) => asText(left).toLowerCase().startsWith(asText(right).toLowerCase()),
  has: (left, right) => asText(left).toLowerCase().includes(asText(right).toLowerCase()),
};

class Parser {
  readonly #tokens: readonly string[];
  readonly #tables: Tables;
  #at = 0;

  constructor(tokens: readonly string[], tables: Tables) {
    this.#tokens = tokens;
    this.#tables = tables;
  }

  pipeline(): readonly Row[] {
    let rows = this.#source();
    while (this.#takes('|')) rows = this.#operator(rows);
    return rows;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw new Error(`${this.#next()} is not expected`);
  }

  #source(): readonly Row[] {
    if (this.#takes('(')) {
      const rows = this.pipeline();
      this.#must(')');
      return rows;
    }
    const name = this.#next();
    if (name === 'union') return this.#list(() => this.#source()).flat();
    return this.#tables[name] ?? [];
  }

  #operator(rows: readonly Row[]): readonly Row[] {
    const name = this.#next();
    switch (name) {
      case 'where': {
        const condition = this.#or();
        return rows.filter((row) => condition(row) === true);
      }
      case 'extend':
      case 'project': {
        const columns = this.#list(() => this.#column());
        return rows.map((row) => {
          const made: Record<string, unknown> = name === 'extend' ? { ...row } : {};
          for (const [column, value] of columns) made[column] = value(row);
          return made;
        });
      }
      default:
        throw new Error(`the operator ${name} is not known here`);
    }
  }

  #column(): readonly [name: string, value: Expression] {
    const name = this.#next();
    return [name, this.#takes('=') ? this.#or() : (row) => row[name]];
  }

  #or(): Expression {
    const any = [this.#and()];
    while (this.#takes('or')) any.push(this.#and());
    return any.length === 1 ? (any[0] ?? NEVER) : (row) => any.some((each) => each(row) === true);
  }

  #and(): Expression {
    const all = [this.#relation()];
    while (this.#takes('and')) all.push(this.#relation());
    return all.length === 1 ? (all[0] ?? NEVER) : (row) => all.every((each) => each(row) === true);
  }

  #relation(): Expression {
    const left = this.#value();
    if (this.#takes('in')) return this.#isIn(left, true);
    if (this.#takes('!in')) return this.#isIn(left, false);
    const relation = RELATIONS[this.#tokens[this.#at] ?? ''];
    if (relation === undefined) return left;
    this.#at += 1;
    const right = this.#value();
    return (row) => relation(left(row), right(row));
  }

  #isIn(left: Expression, wanted: boolean): Expression {
    this.#must('(');
    const values = this.#list(() => this.#value());
    this.#must(')');
    return (row) => values.some((value) => compared(left(row), value(row), (order) => order === 0)) === wanted;
  }

  #value(): Expression {
    if (this.#takes('(')) {
      const inner = this.#or();
      this.#must(')');
      return inner;
    }
    const token = this.#next();
    if (token.startsWith('"')) {
      const text: unknown = JSON.parse(token);
      return () => text;
    }
    if (/^\d/.test(token)) return () => Number(token);
    if (token === 'true' || token === 'false') return () => token === 'true';
    let value = this.#takes('(') ? this.#call(token) : (row: Row) => row[token];
    while (this.#takes('.')) {
      const [of, name] = [value, this.#next()];
      value = (row) => member(of(row), name);
    }
    return value;
  }

  #call(name: string): Expression {
    const call = FUNCTIONS[name];
    if (call === undefined) throw new Error(`the function ${name} is not known here`);
    const values = this.#list(() => this.#or());
    this.#must(')');
    return (row) => call(...values.map((value) => value(row)));
  }

  #list<Element>(element: () => Element): readonly Element[] {
    const elements = [element()];
    while (this.#takes(',')) elements.push(element());
    return elements;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('the query ends too early');
    this.#at += 1;
    return token;
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #must(token: string): void {
    if (!this.#takes(token)) throw new Error(`${token} is missing before ${this.#tokens[this.#at] ?? 'the end'}`);
  }
}

const NEVER: Expression = () => false;
