import { dyn, type Kind, mayBe, shownKind } from './kinds.ts'
import { CelMap, isList, noOverload, type Value } from './values.ts'
import type { Work } from './work.ts'

/** One signature of a function, a method or an operator. */
export type Overload = {
  readonly params: readonly Kind[]
  readonly result: Kind
  run(work: Work, args: readonly Value[]): Value
}

export type Functions = ReadonlyMap<string, readonly Overload[]>

type ValuesOf<Kinds extends readonly Kind[]> = {
  [At in keyof Kinds]: Kinds[At] extends Kind<infer Of> ? Of : never
}

/** A named overload. The first parameter of a method is its target. */
export type Definition = Overload & { readonly name: string }

/** The parameters of `run` are of the kinds of `params`; the work follows them. */
export function define<const Params extends readonly Kind[]>(
  name: string,
  params: Params,
  result: Kind,
  run: (...args: [...ValuesOf<Params>, Work]) => Value,
): Definition {
  return {
    name,
    params,
    result,
    // an overload only runs if its arguments are of these kinds
    run: (work, args) => run(...([...args, work] as unknown as [...ValuesOf<Params>, Work])),
  }
}

/** Methods are named with a dot in front. */
export const method: typeof define = (name, params, result, run) => define(`.${name}`, params, result, run)

export function functionsOf(definitions: readonly Definition[]): Functions {
  return Map.groupBy(definitions, ({ name }) => name)
}

/** Most functions look at all of their arguments. */
function stepsOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length / 256
  if (isList(value)) return value.length / 16
  return value instanceof CelMap ? value.size / 16 : 0
}

/** Runs the overload that takes these values. */
export function call(overloads: readonly Overload[] | undefined, args: readonly Value[], work: Work): Value {
  const overload = overloads?.find(
    ({ params }) => params.length === args.length && params.every((kind, at) => kind.is(args[at] ?? null)),
  )
  if (overload === undefined) throw noOverload()
  work.step(args.reduce<number>((steps, value) => steps + stepsOf(value), 1))
  return overload.run(work, args)
}

/** What a call of these kinds would return; undefined if no overload may take them. */
export function resultOf(overloads: readonly Overload[], args: readonly Kind[]): Kind | undefined {
  const fitting = overloads.filter(
    ({ params }) => params.length === args.length && params.every((kind, at) => mayBe(kind, args[at] ?? dyn)),
  )
  const [first, ...others] = fitting
  const isSure =
    first !== undefined && others.every(({ result }) => shownKind(result) === shownKind(first.result))
  return first === undefined ? undefined : isSure ? first.result : dyn
}
