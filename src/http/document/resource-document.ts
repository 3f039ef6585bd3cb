import { z } from 'zod'
import { type VerbName, verbs } from '../exchange/exchange.ts'
import type { DocumentedAnswer, DocumentedRoute } from '../resource/documented-route.ts'
import type { AnySpec, AnyVerb } from '../resource/resource-spec.ts'
import { inputOf } from '../resource/route-rules.ts'
import type { HelpPage, HelpVerb } from './help.ts'

/** The help of a resource. */
export function pageOf(path: string, spec: AnySpec): HelpPage {
  const helpVerbs = () =>
    verbs.flatMap((verb): HelpVerb[] => {
      // the description of a verb does not depend on its handler's input
      const offered = spec[verb]
      return offered === undefined
        ? []
        : [
            {
              verb,
              summary: offered.summary,
              input: inputOf(verb, offered),
              anyFields: offered.anyFields === true,
            },
          ]
    })
  const isOpen = spec.open === true || (spec.caller !== undefined && spec.caller !== 'required-inside')
  return {
    path,
    isOfNode: false,
    about: spec.help,
    verbs: helpVerbs,
    needs: isOpen ? 'nothing' : spec.sudo === true ? 'sudo' : 'token',
  }
}

/** The schemas of one verb in the API document. */
export function schemasOf(
  operation: VerbName,
  verb: AnyVerb,
  captures: readonly string[],
): Pick<DocumentedRoute, 'params' | 'query' | 'body' | 'output'> {
  const input = verb.shownInput ?? inputOf(operation, verb)
  const schema = verb.anyFields === true ? input.loose() : input
  const { output = operation === 'list' ? keyList : undefined } = verb
  const hasFields = Object.keys(schema.shape).length > 0 || (verb.anyFields === true && operation === 'write')
  return {
    ...(captures.length > 0 && { params: z.object(Object.fromEntries(captures.map(documentedCapture))) }),
    ...(hasFields && { [operation === 'write' || operation === 'patch' ? 'body' : 'query']: schema }),
    ...(output && { output }),
  }
}

const keyList = z.object({ keys: z.array(z.string()) })

/** What the API document says about the response of a verb. */
export const answerOf = (operation: VerbName, verb: AnyVerb): DocumentedAnswer =>
  operation === 'list' && verb.example === undefined
    ? { ...verb, example: { keys: ['first', 'second'] } }
    : verb

const documentedCapture = (name: string) =>
  name === 'rest'
    ? (['path', z.string().describe('The rest of the path, including slashes')] as const)
    : ([name, z.string()] as const)
