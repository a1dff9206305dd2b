/** The panels in the order of the page. */
import type { Panel } from "../panel";
import { correct } from "./correct";
import { decompose } from "./decompose";
import { retarget } from "./retarget";
import { simplify } from "./simplify";

export const PANELS: readonly Panel[] = [decompose, correct, simplify, retarget];
